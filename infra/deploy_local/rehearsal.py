"""The steps of the rehearsal: deploy, order, update, order again, delete. Each is checked from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.postroom.discovery import job_types
from handlers.shop.orders import ORDER_PAID
from infra.deploy_local.aliases import called
from infra.deploy_local.front import Front
from infra.deploy_local.ministack import MiniStack
from infra.deploy_local.providers import Providers
from infra.deploy_local.stack import Stack
from infra.deploy_local.workspace import SUBSCRIBER, Workspace
from infra.local.cart import cart
from infra.local.client import Answer, Client, jobs_of
from infra.local.story import Telling

JOBS = [each.subscriber for each in job_types("handlers") if ORDER_PAID.name in each.on.names]
"""An order's subscribers before the update."""
POINTS, MORE_POINTS = 204, 408
"""For an order of 2,042,500 kobo, before and after the change."""
PATIENCE_SECONDS = 120.0
"""A mapping of MiniStack looks for messages about once a second, and a first call starts a process."""
SENDER = "shop@example.com"


@dataclass
class Rehearsal:
    """One stack's life, from its first deployment to its end."""

    story: Telling
    workspace: Workspace
    ministack: MiniStack
    providers: Providers
    stack: Stack
    architecture: str

    def run(self) -> None:
        """Raises `NotAsToldError`, `TimeoutError` or `CommandFailed` when a step is not as it should be."""
        self.story.chapter("sam build, sam deploy")
        self._deploy(snapshots="off")
        self.story.chapter("An order, through the deployed API")
        self._turns_strangers_away()
        ada = self.front.client("ada@example.com")
        first = self._order(ada, "ada@example.com", JOBS, POINTS)
        self.story.chapter("The stack is updated: other code, a subscriber more, SnapStart")
        self._update()
        self._order(
            self.front.client("bola@example.com"), "bola@example.com", (*JOBS, SUBSCRIBER), MORE_POINTS
        )
        self._remembers(ada, first)
        self.story.chapter("sam delete")
        self._delete()

    @property
    def front(self) -> Front:
        return Front(self.ministack, self.stack, self.workspace.template)

    def _deploy(self, snapshots: str) -> None:
        seconds = _seconds(lambda: self.workspace.build(self.architecture))
        self.story.tell(f"built for {self.architecture}, with byte code, and inspected: {seconds:.1f} s")
        if left_out := self.workspace.leave_out_what_is_refused():
            self.story.tell(f"{len(left_out)} alarms are left out: MiniStack knows no metric math")
        seconds = _seconds(lambda: self.stack.deploy(self._parameters(snapshots)))
        functions = self._functions()
        self.story.check(
            self.stack.exists() and len(functions) > 0,
            f"sam deploy: {seconds:.1f} s, {len(self.stack.resources())} resources, {len(functions)} of them "
            "functions",
        )
        self._is_called_as_it_is(snapshots)
        if added := self.front.add_routes():
            self.story.tell(f"{added} routes are added by API calls: MiniStack reads none from the template")
        told = self.front.mend_mappings()
        self.story.tell(f"{told} mappings are told their concurrency again: from a parameter it came as text")

    def _is_called_as_it_is(self, snapshots: str) -> None:
        aliases = list(called(self.ministack.client("lambda"), self._functions()))
        self.story.check(
            len(aliases) > 0
            and all(each.is_current and each.has_snapshot == (snapshots == "on") for each in aliases),
            f"{len(aliases)} functions are called at an alias; each leads to what was deployed "
            f"(SnapStart {snapshots})",
        )

    def _parameters(self, snapshots: str) -> Mapping[str, str]:
        return {
            "Stage": "dev",
            "Architecture": self.architecture,
            "CardsUrl": self.providers.cards_url,
            "MailUrl": self.providers.mail_url,
            "MailFrom": SENDER,
            "SnapStart": snapshots,
        }

    def _turns_strangers_away(self) -> None:
        answer = self.front.client_with("no.valid.token").get("/jobs")
        self.story.check(answer.status == 401, f"GET /jobs with a made-up token: {answer.status}")

    def _order(self, client: Client, email: str, jobs: Sequence[str], points: int) -> str:
        """Place one and follow it to its end. Returns its event's id."""
        answer = self._placed(client, email)
        path = answer.headers["location"]
        begun = time.monotonic()
        status = client.follow(path, PATIENCE_SECONDS)
        states = {name: job["state"] for name, job in sorted(jobs_of(status).items())}
        took = time.monotonic() - begun
        self.story.check(
            states == dict.fromkeys(sorted(jobs), "completed"),
            f"GET {path}: {status['state']} after {took:.1f} s: {_listed(states)}",
        )
        self._took_effect(status, email, points)
        client.close()  # what follows may take longer than a server keeps an idle connection
        return str(answer.json["jobId"])

    def _placed(self, client: Client, email: str) -> Answer:
        begun = time.monotonic()
        answer = client.command("/checkout", "order-1", cart(email))
        took = time.monotonic() - begun
        self.story.check(
            answer.status == 202, f"POST /checkout: {answer.status} in {took:.2f} s, a cold start"
        )
        again = client.command("/checkout", "order-1", cart(email))
        self.story.check(
            again.body == answer.body and again.headers.get("idempotency-replayed") == "true",
            "pressed again: the same answer, byte for byte",
        )
        return answer

    def _took_effect(self, status: Any, email: str, points: int) -> None:
        earned = jobs_of(status)["loyalty"]["result"]["points"]
        self.story.check(earned == points, f"{earned} points for 2,042,500 kobo")
        mails = [mail for mail in self.providers.mailbox.mails if email in mail.recipients]
        self.story.check(
            len(mails) == 1 and len(mails[0].times) == 1, f"one mail came over SMTP: “{mails[0].subject}”"
        )
        # Two callers, one order each: a charge per order so far.
        orders = len(self.providers.mailbox.mails)
        charges = len(self.providers.gateway.charges)
        self.story.check(charges == orders, f"one charge an order: {charges}")

    def _update(self) -> None:
        before = self._functions()
        self.workspace.give_more_points()
        self.workspace.add_subscriber()
        self.story.tell(f"changed: points for an order are doubled; postroom new subscriber {SUBSCRIBER}")
        self._deploy(snapshots="on")
        after = self._functions()
        changed = [name for name, digest in before.items() if after.get(name) not in (None, digest)]
        self.story.check(
            len(after) == len(before) + 1 and len(changed) == len(before),
            f"{len(changed)} functions have other code, {len(after) - len(before)} is new",
        )

    def _functions(self) -> Mapping[str, str]:
        """The SHA-256 of each function's package, by the function's name."""
        pages = self.ministack.client("lambda").get_paginator("list_functions").paginate()
        listed = [each for page in pages for each in page["Functions"]]
        return {each["FunctionName"]: each["CodeSha256"] for each in listed}

    def _remembers(self, client: Client, event_id: str) -> None:
        loyalty = jobs_of(client.get(f"/jobs/{event_id}").json)["loyalty"]
        self.story.check(
            loyalty["state"] == "completed" and loyalty["result"]["points"] == POINTS,
            f"the first order is what it was: {POINTS} points",
        )

    def _delete(self) -> None:
        tables = [self.stack.resources()[name] for name in ("ShopTable", "JobsTable")]
        seconds = _seconds(self.stack.delete)
        self.story.check(not self.stack.exists(), f"the stack is gone: {seconds:.1f} s")
        left = self._functions()
        self.story.check(not left, f"{len(left)} functions are left")
        kept = self.ministack.client("dynamodb").list_tables()["TableNames"]
        self.story.check(
            set(tables) <= set(kept), f"its tables are kept, as the template says: {_listed(tables)}"
        )


def _seconds(action: Callable[[], object]) -> float:
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
