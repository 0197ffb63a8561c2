"""A checkout counter over fakes, spoken to as API Gateway speaks to a function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from handlers.postroom.acceptance import Acceptance
from handlers.postroom.http import Answer, Respond, answer
from handlers.shop.catalogue import PRODUCTS, Product
from handlers.shop.checkout import checkout
from tests.fakes import FakeStore
from tests.shop_fakes import FakeCards
from tests.unit.gateway import NOW, PLAIN_HEADERS, gateway_event

CART: Mapping[str, Any] = {
    "email": "ada@example.com",
    "cardToken": "tok_visa",
    "lines": [{"sku": "adire-shirt", "quantity": 2}, {"sku": "palm-basket", "quantity": 1}],
}
"""Two shirts and a basket: 2,042,500 kobo."""


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
