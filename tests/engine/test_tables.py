"""The store where AWS answers in ways that moto does not: botocore's Stubber gives the answer."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import Stubber

from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.errors import ConditionFailed, Permanent, TransactionCancelled, Transient
from handlers.postroom.storage import (
    Absent,
    AllOf,
    AnyOf,
    Check,
    Compare,
    Delete,
    Exists,
    Key,
    OneOf,
    Put,
    Update,
    Write,
)

from .conftest import World

KEYS = [Key("shop", f"order-{number}", "entity") for number in range(4)]


def attribute_keys(*keys: Key) -> list[dict[str, Any]]:
    return [{"pk": {"S": key.pk}, "sk": {"S": key.sk}} for key in keys]


@pytest.fixture
def stubber(world: World) -> Stubber:
    world.take_own_session()
    stubber = Stubber(world.deployment.client("dynamodb"))
    stubber.activate()
    return stubber


def test_leftovers_of_a_batch_read_are_asked_for_again(world: World, stubber: Stubber) -> None:
    rest = {"Shop": {"Keys": attribute_keys(*KEYS[1:]), "ConsistentRead": True}}
    stubber.add_response(
        "batch_get_item", {"Responses": {"Shop": attribute_keys(KEYS[0])}, "UnprocessedKeys": rest}
    )
    stubber.add_response(
        "batch_get_item", {"Responses": {"Shop": attribute_keys(*KEYS[1:])}, "UnprocessedKeys": {}}
    )

    assert sorted(world.store.read(KEYS)) == KEYS  # DDB-6


def test_leftovers_without_end_are_given_up_loudly(world: World, stubber: Stubber) -> None:
    rest = {"Shop": {"Keys": attribute_keys(*KEYS), "ConsistentRead": True}}
    for _ in range(5):
        stubber.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": rest})

    with pytest.raises(Transient, match="unanswered"):
        world.store.read(KEYS)


def test_marks_that_failed_inside_a_200_are_made_again_and_a_gone_row_is_fine(
    world: World, stubber: Stubber
) -> None:
    answers: list[dict[str, Any]] = [
        {},
        {"Error": {"Code": "TransactionConflict", "Message": "busy"}},
        {"Error": {"Code": "ConditionalCheckFailed", "Message": "gone"}},
    ]
    stubber.add_response("batch_execute_statement", {"Responses": answers})
    stubber.add_response("batch_execute_statement", {"Responses": [{}]})

    world.store.mark_published(KEYS[:3])

    stubber.assert_no_pending_responses()


def test_a_refused_put_tells_what_stood_in_its_way(world: World) -> None:
    world.store.write(Put(KEYS[0], {"owner": "alice", "total": 5}))

    with pytest.raises(ConditionFailed) as refused:
        world.store.write(Put(KEYS[0], {"owner": "bob"}))

    assert refused.value.old == {"pk": "order-0", "sk": "entity", "owner": "alice", "total": 5}


def test_a_cancelled_transaction_names_its_reasons_by_write(world: World) -> None:
    world.store.write(Put(KEYS[1], {"n": 1}))

    with pytest.raises(TransactionCancelled) as cancelled:
        world.store.transact([Put(KEYS[0], {"n": 0}), Put(KEYS[1], {"n": 2})])

    first, second = cancelled.value.reasons
    assert first is None
    assert second is not None
    assert second.code == "ConditionalCheckFailed"
    assert world.store.read(KEYS[:1]) == {}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ProvisionedThroughputExceededException", Transient),
        ("ThrottlingException", Transient),
        ("InternalServerError", Transient),
        ("TransactionInProgressException", Transient),
        ("AccessDeniedException", Transient),
        ("ValidationException", Permanent),
    ],
)
def test_errors_of_aws_speak_the_engines_language(
    world: World, stubber: Stubber, code: str, expected: type[Exception]
) -> None:
    for _ in range(3):
        stubber.add_client_error("put_item", service_error_code=code)

    with pytest.raises(expected):
        world.store.write(Put(KEYS[0], {}))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Exists(), True),
        (Absent(), False),
        (Compare("version", "<", 3), True),
        (Compare("version", ">=", 3), False),
        (OneOf("state", ("paid", "shipped")), True),
        (OneOf("state", ("lost",)), False),
        (AllOf((Exists("state"), Compare("version", "=", 2))), True),
        (AnyOf((Absent("state"), Compare("version", "<>", 2))), False),
    ],
)
def test_conditions_mean_what_they_say(world: World, condition: Any, holds: bool) -> None:
    world.store.write(Put(KEYS[0], {"state": "paid", "version": 2}))
    guarded: list[Write] = [Check(KEYS[0], condition), Put(KEYS[1], {"done": True})]

    if holds:
        world.store.transact(guarded)
    else:
        with pytest.raises(TransactionCancelled):
            world.store.transact(guarded)

    assert (KEYS[1] in world.store.read(KEYS[1:2])) is holds


def test_an_update_sets_adds_appends_and_removes_in_one_write(world: World) -> None:
    world.store.write(Put(KEYS[0], {"state": "new", "gone": 1}))
    update = Update(
        KEYS[0],
        set={"state": "paid"},
        add={"runs": 2},
        append={"log": ["a"]},
        remove=("gone",),
        condition=Exists(),
    )

    after = world.store.change(update)
    again = world.store.change(replace(update, remove=()))

    assert after == {"pk": "order-0", "sk": "entity", "state": "paid", "runs": 2, "log": ["a"]}
    assert (again["runs"], again["log"]) == (4, ["a", "a"])


def test_an_update_of_nothing_makes_nothing(world: World) -> None:
    with pytest.raises(ConditionFailed):
        world.store.write(Update(KEYS[0], set={"state": "paid"}))

    assert world.store.read(KEYS[:1]) == {}


def test_a_delete_deletes(world: World) -> None:
    world.store.write(Put(KEYS[0], {}))
    world.store.write(Delete(KEYS[0]))

    assert world.store.read(KEYS) == {}


def test_a_float_never_reaches_the_table(world: World) -> None:
    with pytest.raises(TypeError, match="Float"):
        world.store.write(Put(KEYS[0], {"total": 19.99}))  # JSON-3


def test_a_read_of_more_than_a_hundred_keys_is_split(world: World) -> None:
    world.store.read([Key("shop", f"order-{number}", "entity") for number in range(150)])

    assert world.calls == ["BatchGetItem", "BatchGetItem"]


def test_time_outs_fit_inside_every_function(world: World) -> None:
    config = world.deployment.client("sqs").meta.config

    worst_seconds = (config.connect_timeout + config.read_timeout) * config.retries["total_max_attempts"]
    assert worst_seconds < 10  # OPS-1


def test_reads_are_consistent(world: World) -> None:
    requests: list[dict[str, Any]] = []
    world.take_own_session().events.register(
        "provide-client-params.dynamodb.*", lambda params, **_: requests.append(params)
    )
    store = DynamoStore(world.deployment)

    store.read(KEYS[:1])
    store.read(KEYS)

    assert requests[0]["ConsistentRead"] is True  # DDB-5
    assert requests[1]["RequestItems"]["Shop"]["ConsistentRead"] is True
