"""Every answer that docs/openapi.yaml promises of a route is one that the route really gives.

That it gives no other, every test of the path sees to: its stack holds each answer against the document.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from handlers.postroom.acceptance import tombstone
from handlers.postroom.idempotency import derived_id
from handlers.shop.checkout import ROUTE
from handlers.shop.orders import order_key
from handlers.shop.wallet import MAX_AMOUNT, MAX_BALANCE
from infra.local.http_messages import HttpAnswer
from tests.openapi import document
from tests.path.campaigns import CAMPAIGN, join
from tests.path.shop import Shop

KEYED = {"content-type": "application/json", "idempotency-key": "k"}
OUT_OF_ORDER = frozenset({429, 500, 503})
"""What each route answers when something is out of order, whatever it is asked."""
CART = {"email": "ada@example.com", "cardToken": "tok_visa", "lines": [{"sku": "zobo-tea", "quantity": 1}]}
SIGN_UP = {"name": "Ada", "email": "ada@example.com"}
HOOK = {"url": "https://hooks.example.com/ada"}
PHONE = {"phone": "+2348012345678"}
REMINDER = {"email": "ada@example.com", "text": "Tea.", "inSeconds": 60}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "POST /campaigns": CAMPAIGN,
    "POST /checkout": CART,
    "POST /login-codes": {"email": "ada@example.com"},
    "POST /login-codes/{id}/use": {"code": "123456"},
    "POST /orders/{id}/ship": PHONE,
    "POST /reminders": REMINDER,
    "POST /signup": SIGN_UP,
    "POST /wallet/charges": {"amount": 1},
    "POST /wallet/credits": {"amount": 1},
    "POST /wallet/refunds": {"charge": 1},
    "POST /webhooks": HOOK,
}
"""What is right with each route that takes one: nothing else is the matter with the request."""
TARGETS = {
    "/jobs": "/jobs?state=dead",
    "/jobs/{id}": "/jobs/order-9-paid",
    "/orders/{id}/ship": "/orders/9/ship",
    "/password-resets/{token}/use": f"/password-resets/{'a' * 26}-{'a' * 52}/use",
}
"""A path as it is asked for, where another id than this will not do."""
ID = "a" * 26
CODE = re.compile(r"code is ([0-9]{6})")
LINK = re.compile(r"token=(\S+)")


class Walk:
    """Goes through the API and keeps which route answered what."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.seen: set[tuple[str, int]] = set()
        self._keys = 0

    def ask(
        self,
        method: str,
        target: str,
        body: Mapping[str, Any] | str | None = None,
        *,
        caller: str | None = "ada",
        **headers: str,
    ) -> HttpAnswer:
        self._keys += 1
        given = {**KEYED, "idempotency-key": f"k{self._keys}", **headers}
        text = body if isinstance(body, str) else json.dumps(body or {})
        answer = self.shop.stack.call(
            method, target, {name.replace("_", "-"): value for name, value in given.items()}, text, caller
        )
        api = self.shop.stack.api
        assert api
        route = api.route_of(method, target.partition("?")[0])
        assert route
        self.seen.add((route, answer.status))
        return answer

    def every_route_refuses(self) -> None:
        """What follows from a route's kind."""
        for path, operations in document()["paths"].items():
            for method, operation in operations.items():
                self._refusals(method.upper(), path.replace("{", "").replace("}", ""), operation)

    def _refusals(self, method: str, path: str, operation: Mapping[str, Any]) -> None:
        self.ask(method, path, caller=None)
        self.ask(method, f"{path}?limit=none", idempotency_key="")
        if "requestBody" in operation:
            self.ask(method, path, '{"unknown":1}')
            self.ask(method, path, "[")
            self.ask(method, path, " " * 70_000)
            self.ask(method, path, "{}", content_type="text/plain")

    def every_route_is_asked_rightly(self) -> None:
        for path, operations in document()["paths"].items():
            for method in operations:
                target = TARGETS.get(path, path.replace("{id}", ID))
                self.ask(method.upper(), target, BODIES.get(f"{method.upper()} {path}"))

    def orders(self) -> None:
        cart = {**CART, "cardToken": "tok_declined"}
        self.ask("POST", "/checkout", cart)
        self.ask("POST", "/checkout", CART)
        voided = order_key(derived_id("ada", ROUTE, "voided"))
        self.shop.store.write(tombstone(voided, self.shop.clock.now()))
        self.ask("POST", "/checkout", cart, idempotency_key="voided")
        self.ask("POST", "/orders/1001/ship", PHONE)
        self.shop.order(1001)
        for _ in range(2):
            self.ask("POST", "/orders/1001/ship", PHONE)

    def jobs(self) -> None:
        event = self.shop.order(1002)
        found = self.ask("GET", f"/jobs/{event.id}")
        self.ask("GET", f"/jobs/{event.id}", if_none_match=found.headers["etag"])
        self.ask("GET", "/jobs/order-9-paid")
        self.ask("GET", "/jobs?state=dead")
        self.ask("DELETE", "/jobs/order-9-paid")
        self.ask("DELETE", f"/jobs/{event.id}:loyalty")
        self.ask("DELETE", f"/jobs/{event.id}:receipts")
        self.shop.settle()
        self.ask("DELETE", f"/jobs/{event.id}:invoices")

    def customers(self) -> None:
        self.ask("POST", "/password-resets", caller="nobody")
        self.ask("POST", "/signup", SIGN_UP)
        self.ask("POST", "/signup", {**SIGN_UP, "name": "Another"})
        self.ask("POST", "/password-resets")
        self.shop.settle()
        token = next(found[1] for mail in self.shop.mailer.every_mail if (found := LINK.search(mail.text)))
        self.ask("POST", f"/password-resets/{token}/use")
        self.ask("POST", f"/password-resets/{token}/use")
        self.ask("POST", "/online")
        self.ask("GET", "/online")

    def wallet(self) -> None:
        self.ask("POST", "/wallet/charges", {"amount": 1})
        self.ask("POST", "/wallet/credits", {"amount": 5})
        charged = self.ask("POST", "/wallet/charges", {"amount": 5})
        number = int(charged.json["jobId"].rpartition(".")[2])
        self.ask("POST", "/wallet/refunds", {"charge": 999})
        for _ in range(2):
            self.ask("POST", "/wallet/refunds", {"charge": number})

    def full_wallet(self) -> None:
        accounts = [item for item in self.shop.shop_items("account-") if item["sk"] == "entity"]
        self.shop.client("dynamodb").update_item(
            TableName=self.shop.stack.ref("ShopTable"),
            Key={"pk": {"S": accounts[0]["pk"]}, "sk": {"S": "entity"}},
            UpdateExpression="SET balance = :full",
            ExpressionAttributeValues={":full": {"N": str(MAX_BALANCE)}},
        )
        self.ask("POST", "/wallet/credits", {"amount": MAX_AMOUNT})

    def campaigns(self) -> None:
        join(self.shop, 2)
        self.ask("POST", "/campaigns", CAMPAIGN)

    def reminders(self) -> None:
        def placed(seconds: int) -> str:
            body = {"email": "ada@example.com", "text": "Tea.", "inSeconds": seconds}
            set_event = self.ask("POST", "/reminders", body).json["jobId"]
            return f"/reminders/{set_event.removeprefix('reminder-').removesuffix('-set')}"

        ahead, due, sent = placed(3_600), placed(1), placed(1)
        self.ask("GET", "/reminders")
        self.ask("DELETE", "/reminders/none")
        self.ask("DELETE", ahead)
        self.shop.clock.advance(2)
        self.ask("DELETE", due)
        self.shop.run_until_idle()
        self.ask("DELETE", sent)

    def login_codes(self) -> None:
        asked = self.ask("POST", "/login-codes", {"email": "ada@example.com"}).json["jobId"]
        use = f"/login-codes/{asked.removeprefix('login-').removesuffix('-requested')}/use"
        self.shop.settle()
        code = next(found[1] for mail in self.shop.mailer.every_mail if (found := CODE.search(mail.text)))
        for _ in range(2):
            self.ask("POST", use, {"code": code})

    def webhooks(self) -> None:
        made = [self.ask("POST", "/webhooks", HOOK) for _ in range(6)]
        hook = made[0].headers["location"]
        self.ask("GET", "/webhooks")
        self.ask("GET", hook)
        self.ask("POST", f"{hook}/ping")
        for _ in range(4):
            self.ask("POST", f"{hook}/rotate")
        self.ask("DELETE", hook)
        for method, path in (("GET", hook), ("POST", f"{hook}/ping"), ("POST", f"{hook}/rotate")):
            self.ask(method, path)
        self.ask("DELETE", "/webhooks/none")


@dataclass(frozen=True)
class Failed:
    """As much of an HTTP answer as botocore looks at."""

    status_code: int = 400


THROTTLED = Failed(), {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}


LOST_HELLO = {("POST /online", 204), ("POST /online", 503)}
"""At most once on purpose: a hello that cannot be written is lost, and 503 is the gateway's alone."""


class BugError(Exception):
    """What nobody has thought of."""


@dataclass
class Database:
    """What comes of each call: an answer that the SDK is past retrying, or a bug."""

    has_bug: bool = False

    def __call__(self, **_: Any) -> tuple[Failed, dict[str, Any]]:
        if self.has_bug:
            raise BugError
        return THROTTLED


@pytest.fixture
def database(shop: Shop) -> Iterator[Database]:
    """In place of the tables: for the clients that there are, and those that are made from now on."""
    database = Database()
    emitters = [shop.own.client("dynamodb").meta.events, shop.own.session.events]
    for events in emitters:
        events.register("before-call.dynamodb", database)
    yield database
    for events in emitters:
        events.unregister("before-call.dynamodb", database)


def promised(*, out_of_order: bool = False) -> set[tuple[str, int]]:
    return {
        (f"{method.upper()} {path}", int(status))
        for path, operations in document()["paths"].items()
        for method, operation in operations.items()
        for status in operation["responses"]
        if (int(status) in OUT_OF_ORDER) == out_of_order
    }


def test_every_documented_answer_is_really_given(shop: Shop) -> None:
    walk = Walk(shop)

    walk.every_route_refuses()
    walk.orders()
    walk.jobs()
    walk.customers()
    walk.wallet()
    walk.full_wallet()
    walk.campaigns()
    walk.reminders()
    walk.login_codes()
    walk.webhooks()

    assert promised() - walk.seen == set()


def test_every_route_answers_as_documented_when_something_is_out_of_order(
    shop: Shop, database: Database
) -> None:
    """Each answer is held against the document as it is given."""
    shop.expects("request.unavailable", "request.failed")
    walk, api = Walk(shop), shop.stack.api
    assert api

    walk.every_route_is_asked_rightly()
    database.has_bug = True
    walk.every_route_is_asked_rightly()
    api.is_throttled = True
    walk.every_route_is_asked_rightly()

    assert walk.seen ^ promised(out_of_order=True) == LOST_HELLO
