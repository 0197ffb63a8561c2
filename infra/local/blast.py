"""`blast`: a campaign to very many through the local run, with passwords forgotten among it.

What is to be seen: each recipient gets exactly one mail, and nobody's link waits behind the campaign.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from rich.console import Console

from handlers.postroom.aws.expressions import key_attributes, to_attributes
from handlers.postroom.storage import Put
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from handlers.shop.customers import customer_id, customer_key
from infra.local.client import OPEN_STATES, Client
from infra.local.local_run import LocalRun, RunOptions
from infra.local.providers.mail import Mail
from infra.local.shop_facts import Facts
from infra.local.stubs import StubCards, StubMailer, stub_runner
from infra.local.waiting import wait_for

TENANT = "ada"
AUDIENCE = "everybody"
BULK = ("CampaignsQueue", "CampaignMailsQueue")
CAMPAIGN = {
    "audience": AUDIENCE,
    "subject": "Spring is here, {name}",
    "text": "Dear {name},\ncome and see.\n",
}
PATIENCE_SECONDS = 900.0
SECONDS_BETWEEN_RESETS = 0.5


@dataclass(frozen=True)
class Blast:
    """What came of it. Times are in seconds, those of a lane from the request's answer to its mail."""

    recipients: int
    mails: Counter[str]
    copies: int
    steps: int
    bulk: Sequence[float]
    urgent: Sequence[float]
    resets: int

    @property
    def lost(self) -> int:
        return sum(not self.mails[_address(number)] for number in _numbers(self.recipients))

    @property
    def doubled(self) -> int:
        return sum(self.mails.values()) - len(self.mails) + self.copies

    @property
    def is_good(self) -> bool:
        return not self.lost and not self.doubled and len(self.urgent) == self.resets


@dataclass
class Forgetful:
    """Customers who have forgotten their passwords, one every now and then, and when each was answered."""

    run: LocalRun
    answered: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def asking(self) -> Iterator[None]:
        ended = threading.Event()
        thread = threading.Thread(target=self._ask_on, args=[ended], daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _ask_on(self, ended: threading.Event) -> None:
        for number in count(1):
            self._ask(f"forgetful-{number}")
            if ended.wait(SECONDS_BETWEEN_RESETS):
                return

    def _ask(self, caller: str) -> None:
        email = f"{caller}@example.com"
        _put(self.run, Put(customer_key(customer_id(caller)), {"name": caller, "email": email}))
        client = Client(self.run.urls.api, self.run.stack.token(caller))
        try:
            if client.command("/password-resets", caller, {}).status == 202:
                self.answered[email] = time.time()
        except ConnectionError:
            return
        finally:
            client.close()


def blast(recipients: int) -> int:
    """Run one and tell of it. Returns 1 when a recipient got no mail or more than one, else 0."""
    logging.disable(logging.WARNING)
    outcome = measure(recipients)
    Console().print(told(outcome), highlight=False, soft_wrap=True)
    return 0 if outcome.is_good else 1


def measure(recipients: int) -> Blast:
    """Raises `TimeoutError` when something never comes."""
    run = LocalRun(RunOptions())
    run.use(stub_runner(StubMailer(run.mailbox, run.switches["mail"]), StubCards(run.gateway)))
    run.start()
    try:
        fill_audience(run, recipients)
        return _measured(run, recipients)
    finally:
        run.stop()


def fill_audience(run: LocalRun, recipients: int) -> None:
    """As an import of addresses would."""
    audience = Audience(TENANT, AUDIENCE)
    _put(run, audiences.head(audience, Size(recipients, recipients)))
    for number in _numbers(recipients):
        _put(run, audiences.recipient(audience, number, _address(number), f"Reader {number}"))


def _put(run: LocalRun, put: Put) -> None:
    item = {**to_attributes(put.item), **key_attributes(put.key)}
    run.aws.request("dynamodb", "PutItem", {"TableName": run.stack.ref("ShopTable"), "Item": item})


def _measured(run: LocalRun, recipients: int) -> Blast:
    facts = Facts(run)
    tenant = Client(run.urls.api, run.stack.token(TENANT))
    forgetful = Forgetful(run)
    answer = tenant.command("/campaigns", "blast", CAMPAIGN)
    begun = time.time()
    with forgetful.asking():
        path = answer.headers["location"]
        wait_for(lambda: _is_handed_out(tenant, path), PATIENCE_SECONDS, "all handed out", pause=0.5)
        wait_for(lambda: not facts.backlog(BULK), PATIENCE_SECONDS, "the bulk lane empty", pause=0.5)
    wait_for(lambda: not facts.is_work_left(), PATIENCE_SECONDS, "all queues empty", pause=0.5)
    tenant.close()
    steps = sum(row["sk"]["S"] == "campaigns" for row in facts.items("JobsTable"))
    return outcome_of(run.mailbox.mails, recipients, begun, forgetful.answered, steps)


def _is_handed_out(tenant: Client, path: str) -> bool:
    try:
        answer = tenant.get(path)
    except ConnectionError:
        return False
    return answer.status == 200 and answer.json["state"] not in OPEN_STATES


def outcome_of(
    mails: Sequence[Mail], recipients: int, begun: float, answered: Mapping[str, float], steps: int
) -> Blast:
    """From the mailbox. `begun` and `answered` are epoch seconds: of the campaign, and of each reset."""
    bulk = [mail for mail in mails if mail.recipients[0] not in answered]
    urgent = [mail for mail in mails if mail.recipients[0] in answered]
    waits = sorted(mail.times[0] - begun for mail in bulk)
    return Blast(
        recipients=recipients,
        mails=Counter(mail.recipients[0] for mail in bulk),
        copies=sum(len(mail.times) - 1 for mail in mails),
        steps=steps,
        bulk=waits,
        urgent=sorted(mail.times[0] - answered[mail.recipients[0]] for mail in urgent),
        resets=len(answered),
    )


def told(outcome: Blast) -> str:
    seconds = outcome.bulk[-1] if outcome.bulk else 0.0
    return (
        f"{outcome.recipients} recipients in {outcome.steps} steps: {outcome.lost} lost, "
        f"{outcome.doubled} doubled, {len(outcome.bulk) / max(seconds, 0.001):.0f} mails/s.\n"
        f"Bulk lane, from the campaign's answer to the mail: {_spread(outcome.bulk)}.\n"
        f"{outcome.resets} password links asked for among it, from the request's answer to the mail: "
        f"{_spread(outcome.urgent)}."
    )


def _spread(waits: Sequence[float]) -> str:
    """`waits` are seconds, ascending."""
    half, most = (waits[int(share * (len(waits) - 1))] if waits else 0.0 for share in (0.5, 0.99))
    return f"{half:.2f} s median, {most:.2f} s at 99 %"


def _address(number: int) -> str:
    return f"reader-{number}@example.com"


def _numbers(recipients: int) -> range:
    return range(1, recipients + 1)
