"""The shipped template with the subscribers that a scenario needs: the shop's own, and clones of one."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infra.expand import expand, parameter_values, parse

ROOT = Path(__file__).parents[2]
PATH = ROOT / "template.yaml"
PARAMETERS = {
    "CardsUrl": "http://cards.example",
    "MailUrl": "smtp://mail.example:25",
    "MailFrom": "shop@example.com",
}
SHOP = ("receipts", "invoices", "loyalty", "warehouse", "sales", "webhooks")
_ROUTED = "WebhooksApi"
"""Belongs to the API, which every scenario has."""
_MODEL = "loyalty"


@cache
def parameters() -> Mapping[str, str]:
    return parameter_values(parse(PATH.read_text(encoding="utf-8")), PARAMETERS)


@cache
def _shipped() -> Mapping[str, Any]:
    return expand(PATH, PARAMETERS)


@cache
def template_for(subscribers: Sequence[str]) -> Mapping[str, Any]:
    """What the shipped template would be if these were its subscribers."""
    shipped = _shipped()["Resources"]
    common = {name: body for name, body in shipped.items() if not any(_belongs(name, each) for each in SHOP)}
    blocks = [_block(shipped, subscriber) for subscriber in subscribers]
    resources = {**common, **{name: body for block in blocks for name, body in block.items()}}
    return {**_shipped(), "Resources": resources, "Outputs": {}}


def _block(shipped: Mapping[str, Any], subscriber: str) -> dict[str, Any]:
    model = subscriber if subscriber in SHOP else _MODEL
    block = {name: body for name, body in shipped.items() if _belongs(name, model)}
    if model == subscriber:
        return block | ({"InvoiceBucket": shipped["InvoiceBucket"]} if subscriber == "invoices" else {})
    text = json.dumps(block).replace(model, subscriber).replace(_prefix(model), _prefix(subscriber))
    cloned: dict[str, Any] = json.loads(text)
    return cloned


def _belongs(name: str, subscriber: str) -> bool:
    return name.startswith(_prefix(subscriber)) and not name.startswith(_ROUTED)


def _prefix(subscriber: str) -> str:
    return subscriber.capitalize()
