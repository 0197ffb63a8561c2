"""The shipped template with the subscribers that a scenario needs: the shop's own, and clones of one."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from handlers.postroom.discovery import job_types
from infra.expand import expand, parameter_values, read_template

ROOT = Path(__file__).parents[2]
PATH = ROOT / "template.yaml"
PARAMETERS = {
    "CardsUrl": "http://cards.example",
    "MailUrl": "smtp://mail.example:25",
    "MailFrom": "shop@example.com",
}
SHOP = tuple(each.subscriber for each in job_types("handlers"))
_BLOCK = (
    "Subscription",
    "Queue",
    "DeadLetterQueue",
    "DeadLetterQueuePolicy",
    "QueuePolicy",
    "Function",
    "FunctionWork",
    "Role",
    "Logs",
)
"""What a subscriber consists of, by the ends of the logical ids."""
_LISTENS = "WebhooksOutcomes"
"""Reads every end of a job, and is idle work where nobody is to hear of it."""
_MODEL = "loyalty"


@cache
def parameters() -> Mapping[str, str]:
    return parameter_values(read_template(PATH), PARAMETERS)


@cache
def _shipped() -> Mapping[str, Any]:
    return expand(PATH, PARAMETERS)


@cache
def template_for(subscribers: Sequence[str]) -> Mapping[str, Any]:
    """What the shipped template would be if these were its subscribers."""
    shipped = _shipped()["Resources"]
    owned = {name for each in SHOP for name in _block_names(each)}
    common = {
        name: body
        for name, body in shipped.items()
        if name not in owned and ("webhooks" in subscribers or not name.startswith(_LISTENS))
    }
    blocks = [_block(shipped, subscriber) for subscriber in subscribers]
    resources = {**common, **{name: body for block in blocks for name, body in block.items()}}
    return {**_shipped(), "Resources": resources, "Outputs": {}}


def logical(subscriber: str) -> str:
    """What its resources' logical ids begin with: `CampaignMails` for `campaign-mails`."""
    return "".join(map(str.title, subscriber.split("-")))


def function_of(subscriber: str) -> str:
    return f"{logical(subscriber)}Function"


def subscriber_of(function: str, subscribers: Sequence[str]) -> str | None:
    """Whose function it is, if it is one of theirs."""
    return next((each for each in subscribers if function_of(each) == function), None)


def handler_of(subscriber: str) -> str:
    return f"handlers.queue_{subscriber.replace('-', '_')}.handler"


def _block_names(subscriber: str) -> list[str]:
    return [f"{logical(subscriber)}{end}" for end in _BLOCK]


def _block(shipped: Mapping[str, Any], subscriber: str) -> dict[str, Any]:
    model = subscriber if subscriber in SHOP else _MODEL
    block = {name: shipped[name] for name in _block_names(model) if name in shipped}
    if model == subscriber:
        return block | ({"InvoiceBucket": shipped["InvoiceBucket"]} if subscriber == "invoices" else {})
    text = json.dumps(block).replace(model, subscriber).replace(logical(model), logical(subscriber))
    cloned: dict[str, Any] = json.loads(text)
    return cloned
