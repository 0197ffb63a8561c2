"""The shop's providers without a wire, and functions that use them: for tests and measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from handlers.postroom.acceptance import Acceptance
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaHandler
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.discovery import job_types
from handlers.postroom.errors import Permanent, ProviderError, Transient
from handlers.postroom.http import Respond
from handlers.postroom.jobs import CallJob
from handlers.shop.checkout import checkout
from handlers.shop.password_resets import LinkMailer, Tokens
from handlers.shop.ports import CardDeclined, Charge, ChargeBook, ChargePage, Mail, Mailer, PastCharge
from handlers.shop.reconcile import Reconciliation
from infra.local.functions import FunctionSettings, InProcess, Runner
from infra.local.providers.cards import CardGateway
from infra.local.providers.mail import REJECTED, Mailbox, is_address
from infra.local.providers.outages import Switch
from infra.local.stack import RunnerFactory

SOURCE = "stub"


def calling(subscriber: str) -> CallJob[Any, Any]:
    """The job type of a subscriber that calls a provider."""
    found = next(each for each in job_types("handlers") if each.subscriber == subscriber)
    assert isinstance(found, CallJob)
    return found


@dataclass(frozen=True)
class StubMailer:
    """Puts mails straight into a mailbox."""

    mailbox: Mailbox
    switch: Switch

    def send(self, mail: Mail, *, key: str) -> str:
        if self.switch.is_down:
            raise Transient("the mail server is down")
        if not is_address(mail.to):
            raise Permanent(f"the mail server refused the recipient: {REJECTED}")
        message_id = f"<{key.replace(':', '.')}@stub>"
        text = f"Message-ID: {message_id}\nSubject: {mail.subject}\nTo: {mail.to}\n\n{mail.text}"
        self.mailbox.keep(message_id, text.encode(), [mail.to])
        return message_id


@dataclass(frozen=True)
class StubCards:
    """Asks a card gateway in this process."""

    gateway: CardGateway

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        reference = f"{SOURCE}/{key}"
        body = {"amount": amount, "currency": currency, "token": token, "reference": reference}
        status, answer = self.gateway.post("/charges", key, body)
        if status == 402:
            raise CardDeclined("the card was declined")
        if status != 200:
            raise ProviderError(status, f"the card gateway answered {status}")
        return Charge(answer["id"])

    def refund(self, charge_id: str) -> None:
        status, _ = self.gateway.post("/refunds", f"refund-{charge_id}", {"charge": charge_id})
        if status != 200:
            raise ProviderError(status, f"the card gateway answered {status}")

    def made(self, *, since: float, until: float, after: str | None) -> ChargePage:
        query = {"since": str(since), "until": str(until), **({"after": after} if after else {})}
        status, answer = self.gateway.listed(query)
        if status != 200:
            raise ProviderError(status, f"the card gateway answered {status}")
        return ChargePage([_past(each) for each in answer["charges"]], answer["next"])


def _past(listed: Mapping[str, Any]) -> PastCharge:
    is_refunded = listed["status"] == "refunded"
    return PastCharge(listed["id"], listed["key"], listed["created"], is_refunded)


def reconcile_entry(book: ChargeBook) -> Entry:
    """`schedule_reconcile`, asking this book."""

    def build(deployment: Deployment) -> LambdaHandler:
        minutes = int(deployment.setting("RECONCILE_AFTER_MINUTES"))
        reconciliation = Reconciliation(book, DynamoStore(deployment), minutes * 60)
        return lambda _event, context: reconciliation.run(
            deployment.clock(), context.get_remaining_time_in_millis
        )

    return Entry(build)


def links_over(mailer: Mailer, deployment: Deployment) -> LinkMailer:
    """Mails links as the function would, over this mailer."""
    return LinkMailer(mailer, Tokens(deployment.setting("LINK_SECRET")), deployment.setting("RESET_URL"))


def stub_runner(mailer: Mailer, cards: StubCards, receipts: CallJob[Any, Any] | None = None) -> RunnerFactory:
    """Return how functions are run when those that call providers get these.

    `receipts` takes the place of the job type of that name.
    """

    def accept(deployment: Deployment) -> Respond:
        return Acceptance(
            work=checkout(cards),
            store=DynamoStore(deployment),
            now=lambda: datetime.fromtimestamp(deployment.clock(), UTC),
        )

    entries: Mapping[str, Entry] = {
        "handlers.api_checkout.handler": http_entry(accept),
        "handlers.schedule_reconcile.handler": reconcile_entry(cards),
        "handlers.queue_receipts.handler": queue_handler(
            receipts or calling("receipts"), provider=lambda _: mailer
        ),
        "handlers.queue_welcome.handler": queue_handler(calling("welcome"), provider=lambda _: mailer),
        "handlers.queue_campaign_mails.handler": queue_handler(
            calling("campaign-mails"), provider=lambda _: mailer
        ),
        "handlers.queue_password_reset.handler": queue_handler(
            calling("password-reset"), provider=lambda deployment: links_over(mailer, deployment)
        ),
    }

    def runner(settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
        return InProcess(settings.handler, surroundings, entries.get(settings.handler))

    return runner
