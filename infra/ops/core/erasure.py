"""What a stack holds of a customer's person, and how it is taken away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.errors import ConditionFailed, TransactionCancelled
from handlers.postroom.storage import Item, Write
from handlers.postroom.webhooks.registry import Registry, all_removed, registry_key, webhooks_in
from handlers.shop import erasure
from handlers.shop.audiences import RECIPIENT
from handlers.shop.customers import KIND as CUSTOMER
from handlers.shop.invoices import name_of_invoice
from handlers.shop.orders import KIND as ORDER
from handlers.shop.warehouse import pick_key
from infra.ops.core.move_tasks import Report
from infra.ops.core.target import Target

WEBHOOKS = "webhooks"


@dataclass(frozen=True)
class File:
    """One version of an object."""

    key: str
    version: str


@dataclass(frozen=True)
class Task:
    """Writes that are made together, and what they are counted as."""

    counted_as: str
    writes: Sequence[Write]
    count: int = 1


@dataclass(frozen=True)
class Holdings:
    """All that is still to be taken away. The tasks are in their order: see `of_subject`."""

    tasks: Sequence[Task]
    files: Sequence[File]
    webhooks: int

    @property
    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for task in self.tasks:
            counts[task.counted_as] = counts.get(task.counted_as, 0) + task.count
        more = {"invoice files": len(self.files), WEBHOOKS: self.webhooks}
        return {**counts, **{name: count for name, count in more.items() if count}}


def of_subject(target: Target, subject: str, addresses: Sequence[str] = ()) -> Holdings:
    """Read both tables and the bucket. `addresses` are hers, beside the one that she signed up with.

    Rows of audiences come first: after a run that was cut off, her address is still there to find the rest.
    Addresses that she has ordered, reminded or logged in with are not searched for: they may be others'.
    """
    owned = list(_scanned(target, "ShopTable", "#name = :value", "owner", subject))
    orders = [item for item in owned if _is_a(ORDER, item)]
    own = [item["email"] for item in owned if _is_a(CUSTOMER, item) and "email" in item]
    tasks = [
        *_rows(target, subject, frozenset(each.lower() for each in [*addresses, *own])),
        *_picks(target, orders),
        *_entities(target, owned),
        *_jobs(target, subject),
    ]
    files = [file for order in orders for file in _files(target, order)]
    return Holdings(tasks, files, _webhooks(target, subject))


def erase(target: Target, subject: str, found: Holdings, report: Report) -> int:
    """Take it away; returns how many writes were refused because something else changed what they change.

    Safe to do again, which is what a refused write needs.
    """
    if found.webhooks:
        registry = Registry(target.store, target.clock)
        registry.change(subject, lambda item: (all_removed(item, target.clock()), None))
    refused = 0
    for number, task in enumerate(found.tasks):
        refused += not _is_done(target, task.writes)
        report(number + 1, len(found.tasks))
    bucket, s3 = target.physical_id("InvoiceBucket"), target.client("s3")
    for file in found.files:
        s3.delete_object(Bucket=bucket, Key=file.key, VersionId=file.version)
    return refused


def _is_done(target: Target, writes: Sequence[Write]) -> bool:
    try:
        if len(writes) == 1:
            target.store.write(writes[0])
        else:
            target.store.transact(writes)
    except (ConditionFailed, TransactionCancelled):
        return False
    return True


def _rows(target: Target, subject: str, addresses: frozenset[str]) -> Iterator[Task]:
    rows = _scanned(target, "ShopTable", "begins_with(#name, :value)", "sk", RECIPIENT)
    for part in erasure.left([row for row in rows if erasure.is_of(row, subject, addresses)]):
        yield Task("audience rows", part, len(part) - 1)


def _picks(target: Target, orders: Sequence[Item]) -> Iterator[Task]:
    keys = [pick_key(_order_id(order)) for order in orders]
    for pick in target.store.read(keys).values() if keys else ():
        if write := erasure.without_note(pick):
            yield Task("picks", [write])


def _entities(target: Target, owned: Sequence[Item]) -> Iterator[Task]:
    now_ms = int(target.clock() * 1000)
    for item in owned:
        kind, write = erasure.kind_of(item), erasure.erased(item, now_ms)
        if kind and write:
            yield Task(kind.counted_as, [write])


def _jobs(target: Target, subject: str) -> Iterator[Task]:
    for row in _scanned(target, "JobsTable", "#name = :value", "owner", subject):
        if write := erasure.forgotten(row):
            yield Task("jobs", [write])


def _is_a(kind: str, item: Item) -> bool:
    return item["sk"] == "entity" and str(item["pk"]).startswith(f"{kind}-")


def _order_id(order: Item) -> str:
    return str(order["pk"]).removeprefix(f"{ORDER}-")


def _webhooks(target: Target, subject: str) -> int:
    key = registry_key(subject)
    return len(webhooks_in(target.store.read([key]).get(key)))


def _files(target: Target, order: Item) -> Iterator[File]:
    """Every version: a bucket with versioning keeps what is deleted.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html
    """
    name = name_of_invoice(_order_id(order))
    pages = target.client("s3").get_paginator("list_object_versions")
    for page in pages.paginate(Bucket=target.physical_id("InvoiceBucket"), Prefix=name):
        for version in [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]:
            yield File(version["Key"], version["VersionId"])


def _scanned(target: Target, table: str, condition: str, name: str, value: str) -> Iterator[Item]:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html"""
    pages = target.client("dynamodb").get_paginator("scan")
    for page in pages.paginate(
        TableName=target.physical_id(table),
        ConsistentRead=True,
        FilterExpression=condition,
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": {"S": value}},
    ):
        yield from map(from_attributes, page["Items"])
