"""The fake store judges writes as DynamoDB (as moto has it) does: the same bodies on both."""

from collections.abc import Iterator
from typing import Any

import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.errors import ConditionFailed, TransactionCancelled
from handlers.postroom.storage import (
    Absent,
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Key,
    OneOf,
    Put,
    Store,
    Update,
)
from tests.fakes import FakeStore
from tests.unit.aws import make_tables, moto_session

KEY = Key("jobs", "event", "subscriber")
OTHER = Key("shop", "order-1", "entity")
ITEM = {"state": "dead", "attempts": 3, "name": "b", "list": [1]}


@pytest.fixture(params=["fake", "moto"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    if request.param == "fake":
        yield FakeStore()
        return
    with moto_session(monkeypatch) as session:
        make_tables(session)
        yield DynamoStore(Deployment({"SHOP_TABLE": "Shop", "JOBS_TABLE": "Jobs"}, session))


CONDITIONS: list[tuple[Condition, bool, bool]] = [
    # condition, holds for ITEM, holds for no item
    (Exists(), True, False),
    (Absent(), False, True),
    (Exists("state"), True, False),
    (Absent("nothing"), True, True),
    (Compare("state", "=", "dead"), True, False),
    (Compare("state", "=", "done"), False, False),
    (Compare("state", "<>", "done"), True, True),
    (Compare("state", "<>", "dead"), False, True),
    (Compare("attempts", "<", 3), False, False),
    (Compare("attempts", "<=", 3), True, False),
    (Compare("attempts", ">", 2), True, False),
    (Compare("attempts", ">=", 4), False, False),
    (Compare("attempts", "=", "3"), False, False),
    (Compare("name", ">", "a"), True, False),
    (OneOf("state", ("dead", "retrying")), True, False),
    (OneOf("state", ("done",)), False, False),
    (AllOf((Exists(), Compare("attempts", "=", 3))), True, False),
    (AllOf((Exists(), Compare("attempts", "=", 4))), False, False),
    (AnyOf((Absent(), Compare("attempts", "=", 3))), True, True),
    (AnyOf((Absent("state"), OneOf("state", ("retrying",)))), False, True),
]


def test_conditions_hold_alike(store: Store) -> None:
    for condition, for_item, for_nothing in CONDITIONS:
        for exists, expected in ((True, for_item), (False, for_nothing)):
            store.write(Put(KEY, ITEM, condition=None) if exists else Delete(KEY))

            assert _allowed(store, condition) is expected, (condition, exists)


def _allowed(store: Store, condition: Condition) -> bool:
    try:
        store.write(Put(KEY, {"new": True}, condition=condition))
    except ConditionFailed:
        return False
    return True


def test_a_refused_write_shows_what_stood_in_its_way_and_changes_nothing(store: Store) -> None:
    store.write(Put(KEY, ITEM))

    with pytest.raises(ConditionFailed) as refused:
        store.write(Put(KEY, {"state": "other"}))

    assert refused.value.old == store.read([KEY])[KEY] == {**ITEM, "pk": KEY.pk, "sk": KEY.sk}


def test_a_refused_update_of_nothing_shows_nothing(store: Store) -> None:
    with pytest.raises(ConditionFailed) as refused:
        store.write(Update(KEY, set={"state": "phantom"}))

    assert refused.value.old is None
    assert store.read([KEY]) == {}


def test_an_update_sets_adds_appends_and_removes(store: Store) -> None:
    store.write(Put(KEY, ITEM))

    store.write(
        Update(
            KEY,
            set={"state": "open"},
            add={"attempts": 2, "fresh": 1},
            append={"list": [2], "ledger": ["a"]},
            remove=("name", "never"),
        )
    )

    expected: dict[str, Any] = {"state": "open", "attempts": 5, "fresh": 1, "list": [1, 2], "ledger": ["a"]}
    assert store.read([KEY])[KEY] == {**expected, "pk": KEY.pk, "sk": KEY.sk}


def test_an_update_makes_the_item_where_its_condition_allows_it(store: Store) -> None:
    store.write(Update(KEY, set={"state": "new"}, condition=Absent("state")))

    assert store.read([KEY, OTHER]) == {KEY: {"state": "new", "pk": KEY.pk, "sk": KEY.sk}}


def test_a_transaction_is_all_or_nothing_and_names_its_culprits(store: Store) -> None:
    store.write(Put(OTHER, {"version": 1}))

    with pytest.raises(TransactionCancelled) as cancelled:
        store.transact([Put(KEY, ITEM), Put(OTHER, {"version": 2})])

    assert store.read([KEY]) == {}
    fine, culprit = cancelled.value.reasons
    assert fine is None
    assert culprit is not None
    assert culprit.code == "ConditionalCheckFailed"
    assert culprit.old == {"version": 1, "pk": OTHER.pk, "sk": OTHER.sk}


def test_a_transaction_writes_checks_and_deletes_together(store: Store) -> None:
    third = Key("jobs", "event", "third")
    store.write(Put(third, {"x": 1}))
    store.write(Put(OTHER, {"version": 1}))

    store.transact([Put(KEY, ITEM), Check(OTHER, Compare("version", "=", 1)), Delete(third)])

    assert set(store.read([KEY, OTHER, third])) == {KEY, OTHER}


def test_a_float_never_gets_in(store: Store) -> None:  # JSON-3
    with pytest.raises(TypeError, match="Float"):
        store.write(Put(KEY, {"lines": [{"price": 19.99}]}))
