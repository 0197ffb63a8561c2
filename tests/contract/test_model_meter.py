"""The meter counts what AWS would bill, to the unit.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import Model
from tests.contract.builders import create_queue, create_table, item, key, number, refused, text

KIB = 1024
Units = tuple[float, float]
Cost = Callable[[Callable[[], Any]], Units]


@pytest.fixture
def db(model: Model) -> Any:
    client = model.client("dynamodb")
    create_table(client)
    return client


@pytest.fixture
def cost(model: Model) -> Cost:
    """Write and read units of the one call made."""

    def cost(call: Callable[[], Any]) -> Units:
        with model.aws.metered() as calls:
            call()
        (only,) = calls
        return only.write_units, only.read_units

    return cost


def sized(pk: str, size: int, **attributes: Any) -> dict[str, Any]:
    """An item of exactly so many bytes, names and keys included."""
    bare = item(pk, **attributes, body=text(""))
    used = sum(len(name) + len(next(iter(value.values()))) for name, value in bare.items())
    return {**bare, "body": text("x" * (size - used))}


def put(db: Any, new: dict[str, Any], **more: Any) -> Any:
    return db.put_item(TableName="Shop", Item=new, **more)


def update(db: Any, expression: str, **values: Any) -> Any:
    given = {f":{name}": value for name, value in values.items()}
    return db.update_item(
        TableName="Shop",
        Key=key("a"),
        UpdateExpression=expression,
        **({"ExpressionAttributeValues": given} if given else {}),
    )


@pytest.mark.parametrize(("size", "units"), [(100, 1), (KIB, 1), (KIB + 1, 2), (10 * KIB, 10)])
def test_a_write_costs_a_unit_for_each_kib_begun(db: Any, cost: Cost, size: int, units: int) -> None:
    assert cost(lambda: put(db, sized("a", size))) == (units, 0)


def test_the_larger_of_the_item_before_and_after_counts(db: Any, cost: Cost) -> None:
    put(db, sized("a", 3 * KIB))

    assert cost(lambda: put(db, sized("a", 100))) == (3, 0)
    assert cost(lambda: put(db, sized("a", 2 * KIB))) == (2, 0)
    assert cost(lambda: update(db, "REMOVE body")) == (2, 0)


def test_a_delete_costs_what_it_deletes(db: Any, cost: Cost) -> None:
    put(db, sized("a", 3 * KIB))

    assert cost(lambda: db.delete_item(TableName="Shop", Key=key("a"))) == (3, 0)
    assert cost(lambda: db.delete_item(TableName="Shop", Key=key("a"))) == (1, 0)


def test_a_failed_condition_costs_what_the_existing_item_does(db: Any, cost: Cost) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html"""
    put(db, sized("a", 2 * KIB))

    def fail(new: dict[str, Any], condition: str) -> None:
        with refused("ConditionalCheckFailedException"):
            put(db, new, ConditionExpression=condition)

    assert cost(lambda: fail(sized("a", 5 * KIB), "attribute_not_exists(pk)")) == (2, 0)
    assert cost(lambda: fail(sized("b", 5 * KIB), "attribute_exists(pk)")) == (1, 0)


def test_each_index_entry_put_changed_moved_or_removed_costs_its_own(db: Any, cost: Cost) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html"""
    entry = item("a", unpublished=text("0"), bornAt=number(1))

    assert cost(lambda: put(db, entry)) == (2, 0)
    assert cost(lambda: update(db, "SET note = :n", n=text("not in the index"))) == (1, 0)
    assert cost(lambda: update(db, "SET unpublished = :u", u=text("1"))) == (3, 0)
    assert cost(lambda: update(db, "REMOVE unpublished")) == (2, 0)
    assert cost(lambda: update(db, "SET note = :n", n=text("in no index"))) == (1, 0)


def test_an_index_of_everything_pays_for_every_change(model: Model, cost: Cost) -> None:
    db = model.client("dynamodb")
    create_table(db, projection="ALL")
    put(db, item("a", unpublished=text("0"), bornAt=number(1)))

    assert cost(lambda: update(db, "SET note = :n", n=text("x" * 2 * KIB))) == (6, 0)


def test_a_transaction_doubles_the_items_and_not_the_index(db: Any, cost: Cost) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html"""
    entry = item("a", unpublished=text("0"), bornAt=number(1))
    writes = [{"Put": {"TableName": "Shop", "Item": one}} for one in (entry, item("b"))]

    assert cost(lambda: db.transact_write_items(TransactItems=writes)) == (2 + 1 + 2, 0)


def test_a_cancelled_transaction_is_billed_too(db: Any, cost: Cost) -> None:
    put(db, sized("a", 2 * KIB))
    new = {"TableName": "Shop", "Item": item("a"), "ConditionExpression": "attribute_not_exists(pk)"}

    def cancelled() -> None:
        with refused("TransactionCanceledException"):
            db.transact_write_items(
                TransactItems=[{"Put": new}, {"Put": {"TableName": "Shop", "Item": item("b")}}]
            )

    assert cost(cancelled) == (4 + 2, 0)


def test_a_repeat_with_its_token_writes_nothing(db: Any, cost: Cost) -> None:
    request = {
        "TransactItems": [{"Put": {"TableName": "Shop", "Item": item("a")}}],
        "ClientRequestToken": "token-1",
    }
    db.transact_write_items(**request)

    assert cost(lambda: db.transact_write_items(**request)) == (0, 1)


@pytest.mark.parametrize(("size", "units"), [(100, 1), (4 * KIB, 1), (4 * KIB + 1, 2)])
def test_a_read_costs_a_unit_for_four_kib_or_half_of_it(db: Any, cost: Cost, size: int, units: int) -> None:
    put(db, sized("a", size))

    assert cost(lambda: db.get_item(TableName="Shop", Key=key("a"), ConsistentRead=True)) == (0, units)
    assert cost(lambda: db.get_item(TableName="Shop", Key=key("a"))) == (0, units / 2)


def test_reading_what_is_not_there_costs_the_minimum(db: Any, cost: Cost) -> None:
    assert cost(lambda: db.get_item(TableName="Shop", Key=key("a"), ConsistentRead=True)) == (0, 1)
    assert cost(lambda: db.get_item(TableName="Shop", Key=key("a"))) == (0, 0.5)


def test_a_batch_read_is_rounded_item_by_item(db: Any, cost: Cost) -> None:
    put(db, sized("a", 100))
    wanted = {"Shop": {"Keys": [key("a"), key("b"), key("c")], "ConsistentRead": True}}

    assert cost(lambda: db.batch_get_item(RequestItems=wanted)) == (0, 3)


def test_a_query_is_rounded_as_a_whole(db: Any, cost: Cost) -> None:
    for sk in "123":
        put(db, {**sized("a", 1500), "sk": text(sk)})
    request = {
        "TableName": "Shop",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": text("a")},
        "ConsistentRead": True,
    }

    assert cost(lambda: db.query(**request)) == (0, 2)


def test_statements_cost_what_updates_do(db: Any, cost: Cost) -> None:
    for pk in "ab":
        put(db, item(pk, unpublished=text("0"), bornAt=number(1)))
    statement = 'UPDATE "Shop" REMOVE unpublished WHERE pk=? AND sk=?'
    statements = [{"Statement": statement, "Parameters": [text(pk), text("entity")]} for pk in "ab"]

    assert cost(lambda: db.batch_execute_statement(Statements=statements)) == (4, 0)


def test_consumed_capacity_is_told_when_asked_for(db: Any) -> None:
    entry = item("a", unpublished=text("0"), bornAt=number(1))

    told = put(db, entry, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    total = put(db, entry, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]

    assert told["CapacityUnits"] == 2
    assert told["Table"]["WriteCapacityUnits"] == 1
    assert told["GlobalSecondaryIndexes"]["unpublished"]["WriteCapacityUnits"] == 1
    assert (total["CapacityUnits"], total.get("Table")) == (1, None)


def test_other_services_cost_no_units_and_errors_are_named(model: Model) -> None:
    sqs = model.client("sqs")
    with model.aws.metered() as calls:
        create_queue(sqs, "work")
        with refused("AWS.SimpleQueueService.NonExistentQueue"):
            sqs.get_queue_url(QueueName="nowhere")

    assert [(call.service, call.operation, call.write_units, call.error) for call in calls] == [
        ("sqs", "CreateQueue", 0, None),
        ("sqs", "GetQueueUrl", 0, "QueueDoesNotExist"),
    ]
    assert model.aws.calls == calls
