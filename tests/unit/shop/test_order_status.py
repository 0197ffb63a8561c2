"""An order's status never goes back: what comes late changes nothing."""

import pytest

from handlers.postroom.errors import AlreadyDone, ConditionFailed
from handlers.shop.order_status import PAID, SHIPPED, Status, advance, status_of
from handlers.shop.orders import order_key
from tests.fakes import FakeStore

ORDER = order_key("1001")


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.put(ORDER, owner="ada")
    return store


def test_paid_then_shipped_moves_on(store: FakeStore) -> None:
    store.write(advance(ORDER, SHIPPED))

    assert status_of(store.items[ORDER]) == SHIPPED


@pytest.mark.parametrize("late", [PAID, SHIPPED], ids=["DDB-2-late-paid", "DDB-2-shipped-again"])
def test_what_comes_late_leaves_it_shipped(store: FakeStore, late: Status) -> None:
    store.write(advance(ORDER, SHIPPED))

    with pytest.raises(ConditionFailed):
        store.write(advance(ORDER, late))

    assert status_of(store.items[ORDER]) == SHIPPED


def test_a_late_event_is_done_and_not_failed() -> None:
    assert isinstance(advance(ORDER, PAID).refused, AlreadyDone)


def test_an_order_that_is_not_there_is_not_made_up() -> None:  # DDB-3
    store = FakeStore()

    with pytest.raises(ConditionFailed):
        store.write(advance(ORDER, SHIPPED))

    assert store.items == {}
