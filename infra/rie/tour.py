"""One of everything that the stack does, so that each of its functions is called with an event of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.postroom.aws.expressions import key_attributes, to_attributes
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from infra.local.cart import cart
from infra.local.client import Client
from infra.local.local_run import LocalRun
from infra.local.story import Telling
from infra.local.waiting import wait_for

PATIENCE_SECONDS = 120.0
"""Each function's first call starts its package."""
CALLER = "ada"
EMAIL = "ada@example.com"
NOWHERE = "https://hooks.postroom.example/ada"
"""No such name can be registered, and no name is looked up: rfc-editor.org/rfc/rfc6761#section-6.4"""


@dataclass
class Tour:
    """A customer of the running stack."""

    story: Telling
    run: LocalRun
    keys: int = 0

    def __post_init__(self) -> None:
        self.client = Client(self.run.urls.api, self.run.stack.token(CALLER))

    def go(self) -> None:
        """Raises `NotAsToldError` or `TimeoutError` when a step does not come out as it should."""
        self._hears_by_webhook()
        order = self._done("an order", "/checkout", cart(EMAIL))
        self._done("its shipping", f"/orders/{order}/ship", {"phone": "+2348012345678"})
        self._done("a signup", "/signup", {"name": "Ada", "email": EMAIL})
        self._done("a password link", "/password-resets", {})
        self._done("a login code", "/login-codes", {"email": EMAIL})
        self._done("a wallet's credit", "/wallet/credits", {"amount": 500_000})
        self._is_reminded()
        self._is_online()
        self._writes_to_all()
        self._schedules()
        self.client.close()

    def _done(self, what: str, path: str, body: Mapping[str, Any]) -> str:
        """Send a command and follow it until all its jobs are done. Returns its order's id, if it has one."""
        answer = self.client.command(path, self._key(), body)
        self.story.check(answer.status == 202, f"{what}: POST {path} answers {answer.status}")
        location = answer.headers["location"]
        status = self.client.follow(location, PATIENCE_SECONDS)
        names = ", ".join(job["id"].rpartition(":")[2] for job in status["jobs"])
        self.story.check(status["state"] == "completed", f"{what}: {status['state']} ({names})")
        return str(location).removeprefix("/jobs/order-").removesuffix("-paid")

    def _hears_by_webhook(self) -> None:
        inside = self.client.command("/webhooks", self._key(), {"url": "http://127.0.0.1:1/inside"})
        self.story.check(inside.status == 422, f"a webhook to this machine: {inside.status}, as in Lambda")
        answer = self.client.command("/webhooks", self._key(), {"url": NOWHERE})
        self.story.check(answer.status == 201, f"a webhook to {NOWHERE}: {answer.status}")

    def _is_reminded(self) -> None:
        self._done("a reminder", "/reminders", {"email": EMAIL, "text": "Tea.", "inSeconds": 2})
        wait_for(lambda: self._sent("Your reminder") == 1, PATIENCE_SECONDS, "the mail of the reminder")
        self.story.check(True, "its mail came over SMTP when it was due")

    def _is_online(self) -> None:
        hello = self.client.post("/online")
        self.story.check(hello.status == 204, f"POST /online: {hello.status}")
        asked = self.client.get("/online")
        self.story.check(asked.status == 200 and "online" in asked.json, f"GET /online: {asked.json}")

    def _writes_to_all(self) -> None:
        audience = Audience(CALLER, "spring")
        members = [audiences.recipient(audience, number, EMAIL, "Ada") for number in (1, 2)]
        for put in (audiences.head(audience, Size(2, 2)), *members):
            item = {**to_attributes(put.item), **key_attributes(put.key)}
            dynamodb: Any = self.run.aws.session().client("dynamodb")
            dynamodb.put_item(TableName=self.run.stack.ref("ShopTable"), Item=item)
        campaign = {"audience": "spring", "subject": "Spring", "text": "Come, {name}."}
        self._done("a campaign", "/campaigns", campaign)
        wait_for(lambda: self._sent("Spring") == 2, PATIENCE_SECONDS, "two mails of the campaign")
        self.story.check(self._sent("Spring") == 2, "its two mails came over SMTP")

    def _sent(self, subject: str) -> int:
        return sum(mail.subject == subject for mail in self.run.mailbox.mails)

    def _schedules(self) -> None:
        """They are not waited for: each is called with what EventBridge Scheduler would send."""
        for schedule in self.run.stack.schedules:
            event = {
                "version": "0",
                "detail-type": "Scheduled Event",
                "source": "aws.scheduler",
                "detail": "{}",
            }
            error = schedule.function.invoke(event).error
            self.story.check(error is None, f"{schedule.function.name}: {error or 'no error'}")

    def _key(self) -> str:
        self.keys += 1
        return f"key-{self.keys}"
