"""Scans of a table, in no order that means anything.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
"""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.pages import Reads
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, invalid

_NOT_MODELLED = ("IndexName", "Segment", "TotalSegments")


def scan(table: Table, params: Mapping[str, Any], capacity: Capacity) -> dict[str, Any]:
    for name in _NOT_MODELLED:
        if name in params:
            raise invalid(f"Scan with {name} is not modelled")
    reads = Reads(table, params, [])
    return reads.answer(_candidates(reads), capacity)


def _candidates(reads: Reads) -> Iterator[Item]:
    """In key order, which lets the next page find its place even when the last item is gone."""
    start = None if reads.start is None else reads.table.schema.of_item(reads.start)
    for key in sorted(reads.table.all_keys()):
        item = reads.seen(key)
        if item is not None and (start is None or key > start):
            yield item
