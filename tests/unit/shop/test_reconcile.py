"""No charge without its order or its refund: what the gateway holds is compared with what was ordered."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.postroom.acceptance import Acceptance
from handlers.postroom.errors import ProviderError, Transient
from handlers.postroom.http import Answer, answer
from handlers.shop.checkout import checkout
from handlers.shop.ports import Charge, ChargePage, PastCharge
from handlers.shop.reconcile import FIRST_LOOK_SECONDS, MARK, Reconciliation
from tests.fakes import FakeStore, Faults, failing, losing_the_answer, meanwhile
from tests.unit.api.conftest import CART
from tests.unit.gateway import NOW, gateway_event, problem_of

MINUTES_15 = 900.0
OTHER_CART = {**CART, "lines": [{"sku": "zobo-tea", "quantity": 1}]}


def plenty() -> int:
    return 60_000


@dataclass
class Gateway:
    """A gateway that honours keys, and repeats its yes to a charge that it has refunded since."""

    now: Callable[[], float]
    made_by_key: dict[str, PastCharge] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    pages: int = 0
    page_size: int = 100

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        def perform() -> Charge:
            new = PastCharge(f"ch_{len(self.made_by_key) + 1}", key, self.now(), False)
            return Charge(self.made_by_key.setdefault(key, new).id)

        return self.faults.perform("charge", perform)

    def refund(self, charge_id: str) -> None:
        self.faults.perform("refund", lambda: self._refund(charge_id))

    def _refund(self, charge_id: str) -> None:
        [charge] = [each for each in self.made_by_key.values() if each.id == charge_id]
        self.made_by_key[charge.key] = replace(charge, is_refunded=True)

    def made(self, *, since: float, until: float, after: str | None) -> ChargePage:
        return self.faults.perform("made", lambda: self._made(since, until, after))

    def _made(self, since: float, until: float, after: str | None) -> ChargePage:
        self.pages += 1
        found = [each for each in self.made_by_key.values() if since <= each.made_at < until]
        start = int(after) if after else 0
        end = start + self.page_size
        return ChargePage(found[start:end], str(end) if end < len(found) else None)

    @property
    def refunded(self) -> set[str]:
        return {each.id for each in self.made_by_key.values() if each.is_refunded}


@dataclass
class Shop:
    """Checkout and reconciliation around one store and one gateway, and their clock."""

    now: float = field(default=NOW.timestamp())
    store: FakeStore = field(default_factory=FakeStore)
    gateway: Gateway = field(init=False)

    def __post_init__(self) -> None:
        self.gateway = Gateway(lambda: self.now)

    def post(self, body: Any = CART, key: str = "key-1") -> Answer:
        time: Callable[[], datetime] = lambda: datetime.fromtimestamp(self.now, UTC)  # noqa: E731
        respond = Acceptance(checkout(self.gateway), self.store, time)
        headers = {"content-type": "application/json", "idempotency-key": key}
        return answer(respond, gateway_event(body, headers=headers))

    def crash_between_charge_and_commit(self, body: Any = CART, key: str = "key-1") -> None:
        self.store.faults.on("write", failing(Transient("killed")))
        assert self.post(body, key).status == 503

    def reconcile(self, remaining_ms: Callable[[], int] = plenty) -> dict[str, int]:
        return dict(Reconciliation(self.gateway, self.store, MINUTES_15).run(self.now, remaining_ms))

    def wait(self, seconds: float = MINUTES_15 + 1) -> None:
        self.now += seconds

    @property
    def orders(self) -> list[dict[str, Any]]:
        return [item for item in self.store.items.values() if "chargeId" in item]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_a_crash_between_charge_and_commit_ends_in_a_refund(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()

    assert shop.reconcile() == {"refunded": 1}

    assert shop.gateway.refunded == {"ch_1"}
    assert shop.orders == []


def test_a_charge_with_its_order_is_left_alone(shop: Shop) -> None:
    shop.post()
    shop.wait()

    assert shop.reconcile() == {"ordered": 1}

    assert shop.gateway.refunded == set()


def test_a_request_that_may_be_under_way_is_not_touched(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait(MINUTES_15)

    assert shop.reconcile() == {}

    assert shop.post().status == 202
    shop.wait()
    assert shop.reconcile() == {"ordered": 1}


def test_a_client_that_comes_back_after_the_refund_is_refused_and_not_charged(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.reconcile()
    shop.gateway.faults.on("charge", lambda _: pytest.fail("charged"))

    refusal = shop.post()

    assert refusal.status == 409
    assert problem_of(refusal)["code"] == "request_voided"
    assert "new key" in problem_of(refusal)["detail"]
    assert shop.orders == []


def test_a_new_key_is_a_new_order(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.reconcile()

    assert shop.post(key="key-2").status == 202
    assert [order["chargeId"] for order in shop.orders] == ["ch_2"]


def test_a_client_that_overtakes_the_refund_gets_its_order(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.store.faults.on("write", meanwhile(lambda: shop.post()))

    assert shop.reconcile() == {"ordered": 1}

    assert shop.gateway.refunded == set()
    assert [order["chargeId"] for order in shop.orders] == ["ch_1"]


def test_a_client_that_the_refund_overtakes_is_refused_whatever_the_gateway_repeats(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.store.faults.on("write", meanwhile(lambda: shop.reconcile()))

    refusal = shop.post()

    assert refusal.status == 409
    assert problem_of(refusal)["code"] == "request_voided"
    assert shop.gateway.refunded == {"ch_1"}
    assert shop.orders == []


def test_a_refund_for_a_lost_race_that_failed_is_made_good(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.store.faults.on("write", meanwhile(lambda: shop.post(OTHER_CART)))
    shop.gateway.faults.on("refund", failing(Transient("away")))
    assert shop.post().status == 422
    assert shop.gateway.refunded == set()
    shop.wait()

    assert shop.reconcile() == {"refunded": 1, "ordered": 1}

    [order] = shop.orders
    assert shop.gateway.refunded == {"ch_1"}
    assert order["chargeId"] == "ch_2"


def test_a_crash_after_the_tombstone_is_finished_by_the_next_run(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.gateway.faults.on("refund", failing(Transient("away")))
    assert shop.reconcile() == {"left": 1}

    assert shop.reconcile() == {"refunded": 1}

    assert shop.gateway.refunded == {"ch_1"}


def test_a_refund_whose_answer_is_lost_is_asked_for_again_and_made_once(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.gateway.faults.on("refund", losing_the_answer(Transient("away")))

    assert [shop.reconcile(), shop.reconcile()] == [{"left": 1}, {"refunded_before": 1}]


def test_a_refund_that_the_gateway_refuses_is_told_and_holds_nobody_up(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.crash_between_charge_and_commit(key="key-1")
    shop.crash_between_charge_and_commit(key="key-2")
    shop.wait()
    shop.gateway.faults.on("refund", failing(ProviderError(422, "disputed by ada@example.com")))

    with caplog.at_level(logging.ERROR):
        assert shop.reconcile() == {"refused": 1, "refunded": 1}

    [told] = [record for record in caplog.records if record.message == "charge.refund_refused"]
    assert "disputed by [e-mail]" in vars(told)["trace"]
    assert "ada@" not in caplog.text
    assert shop.reconcile() == {}


def test_a_charge_that_somebody_else_refunded_closes_its_place_all_the_same(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.gateway.refund("ch_1")
    shop.wait()

    assert shop.reconcile() == {"refunded_before": 1}

    assert shop.post().status == 409


@pytest.mark.parametrize("key", ["", "invoice-7", "a-b", f"{'A' * 26}-{'b' * 26}", f"{'a' * 26}-{'b' * 25}"])
def test_a_charge_of_unknown_make_is_never_refunded(shop: Shop, key: str) -> None:
    shop.gateway.charge(1, "NGN", "tok", key=key)
    shop.wait()

    assert shop.reconcile() == {"unknown": 1}

    assert shop.gateway.refunded == set()
    assert set(shop.store.items) == {MARK}


def test_each_charge_is_looked_at_once(shop: Shop) -> None:
    for number in range(5):
        shop.post(key=f"key-{number}")
        shop.wait()

    seen = [shop.reconcile(), shop.reconcile()]

    assert seen == [{"ordered": 5}, {}]


def test_the_first_run_looks_back_ninety_days(shop: Shop) -> None:
    shop.post(key="old")
    shop.wait(FIRST_LOOK_SECONDS + MINUTES_15 + 1)
    shop.post(key="new")
    shop.wait()

    assert shop.reconcile() == {"ordered": 1}


def test_schedules_that_stand_still_after_an_idle_first_run_miss_nothing(shop: Shop) -> None:
    assert shop.reconcile() == {}
    shop.wait()
    shop.crash_between_charge_and_commit()
    shop.wait(FIRST_LOOK_SECONDS + 1)

    assert shop.reconcile() == {"refunded": 1}


def test_an_outage_of_the_gateway_of_any_length_skips_nothing(shop: Shop) -> None:
    shop.post(key="before")
    shop.wait()
    shop.reconcile()
    shop.crash_between_charge_and_commit()
    shop.wait(30 * 24 * 3600)
    shop.gateway.faults.on("made", failing(Transient("away")))
    with pytest.raises(Transient):
        shop.reconcile()

    assert shop.reconcile() == {"refunded": 1}


def test_pages_are_followed_and_orders_read_together(shop: Shop) -> None:
    shop.gateway.page_size = 3
    for number in range(7):
        shop.post(key=f"key-{number}")
        shop.now += 1
    shop.wait()
    shop.store.calls.clear()

    assert shop.reconcile() == {"ordered": 7}

    assert shop.gateway.pages == 3
    assert shop.store.operations == ["read", "read", "read", "read", "write"]


def test_with_little_time_left_the_next_run_goes_on_from_there(shop: Shop) -> None:
    for number in range(3):
        shop.crash_between_charge_and_commit(key=f"key-{number}")
        shop.now += 1
    shop.wait()
    remaining = iter([60_000, 14_999])

    assert shop.reconcile(lambda: next(remaining)) == {"refunded": 1}

    assert shop.reconcile() == {"refunded": 2}


def test_a_quiet_shop_costs_one_read_and_one_question(shop: Shop) -> None:
    shop.reconcile()
    shop.store.calls.clear()
    shop.gateway.pages = 0

    assert shop.reconcile() == {}

    assert shop.store.operations == ["read"]
    assert shop.gateway.pages == 1


def test_a_tombstone_is_no_event_and_belongs_to_nobody(shop: Shop) -> None:
    shop.crash_between_charge_and_commit()
    shop.wait()
    shop.reconcile()

    [tombstone] = [item for item in shop.store.items.values() if "voided" in item]
    assert set(tombstone) == {"pk", "sk", "voided"}
    assert "ada@" not in json.dumps(tombstone)
