"""A checkout counter over fakes, spoken to as API Gateway speaks to a function."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handlers.postroom.acceptance import Acceptance
from handlers.postroom.http import Answer, Respond, answer
from handlers.shop.catalogue import PRODUCTS, Product
from handlers.shop.checkout import checkout
from tests.fakes import FakeCards, FakeStore

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CART: Mapping[str, Any] = {
    "email": "ada@example.com",
    "cardToken": "tok_visa",
    "lines": [{"sku": "adire-shirt", "quantity": 2}, {"sku": "palm-basket", "quantity": 1}],
}
"""Two shirts and a basket: 2,042,500 kobo."""

PLAIN_HEADERS = {"content-type": "application/json", "idempotency-key": "key-1"}


def gateway_event(
    body: Any = None,
    *,
    caller: str | None = "alice",
    headers: Mapping[str, str] | None = PLAIN_HEADERS,
    encoded: bool = False,
    path_parameters: Mapping[str, str] | None = None,
    method: str = "POST",
    query: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A request in payload format 2.0; a body that is no text or bytes is sent as JSON."""
    raw = body if isinstance(body, str | bytes) else json.dumps(body)
    binary = encoded or isinstance(raw, bytes)
    text = _base64(raw) if binary else raw
    authorizer = {"authorizer": {"jwt": {"claims": {"sub": caller}}}} if caller is not None else {}
    context = {"http": {"method": method}, **authorizer}
    event = {"version": "2.0", "headers": headers, "requestContext": context, "body": text}
    asked = {"pathParameters": path_parameters, "queryStringParameters": query}
    return {**event, **asked, "isBase64Encoded": binary}


def _base64(raw: str | bytes) -> str:
    return base64.b64encode(raw.encode() if isinstance(raw, str) else raw).decode()


@dataclass
class Counter:
    """`POST /checkout` with everything around it in reach."""

    store: FakeStore = field(default_factory=FakeStore)
    cards: FakeCards = field(default_factory=FakeCards)
    time: datetime = NOW
    products: Mapping[str, Product] = field(default_factory=lambda: PRODUCTS)

    @property
    def respond(self) -> Respond:
        return Acceptance(checkout(self.cards, self.products), self.store, self._tick)

    def _tick(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time

    def post(self, body: Any = CART, *, key: str | None = None, **rest: Any) -> Answer:
        if key is not None:
            rest["headers"] = {**PLAIN_HEADERS, "idempotency-key": key}
        return answer(self.respond, gateway_event(body, **rest))

    @property
    def orders(self) -> list[dict[str, Any]]:
        return list(self.store.items.values())

    def assert_untouched(self) -> None:
        assert self.store.items == {}
        assert self.cards.calls == []


@pytest.fixture
def counter() -> Counter:
    return Counter()


def problem_of(refusal: Answer) -> dict[str, Any]:
    """The problem document, checked for what every one must have."""
    assert refusal.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(refusal.body)
    assert document["status"] == refusal.status
    assert document["title"]
    assert document["detail"]
    return document


def fields_of(refusal: Answer) -> list[str]:
    errors = problem_of(refusal).get("errors", [])
    assert all(error["reason"] for error in errors)
    return [error["field"] for error in errors]
