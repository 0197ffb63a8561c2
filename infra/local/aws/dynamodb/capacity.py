"""What AWS would bill: request units, table by table and index by index.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html (sizes),
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html (units),
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html (index writes).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.aws.dynamodb.index import Index
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, item_size
from infra.local.aws.meter import Usage

WRITE_UNIT_BYTES = 1024
READ_UNIT_BYTES = 4096
TRANSACTIONAL = 2


@dataclass
class Bill:
    """The units of one table and its indexes."""

    write: float = 0.0
    read: float = 0.0
    index_write: dict[str, float] = field(default_factory=dict)
    index_read: dict[str, float] = field(default_factory=dict)

    @property
    def total_write(self) -> float:
        return self.write + sum(self.index_write.values())

    @property
    def total_read(self) -> float:
        return self.read + sum(self.index_read.values())


class Capacity:
    """The units of one request, also told to the meter."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._bills: dict[str, Bill] = {}

    def wrote(self, table: Table, old: Item | None, new: Item | None, factor: int = 1) -> None:
        """A write that took place. The larger of the two sizes counts.

        A transaction doubles the table's units only: its changes reach the indexes after it has completed.
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
        """
        bill = self._bill(table)
        self._add_write(bill, factor * write_units(old, new))
        for index in table.indexes.values():
            units = index_write_units(index, old, new)
            if units:
                self._usage.write += units
                bill.index_write[index.name] = bill.index_write.get(index.name, 0.0) + units

    def refused(self, table: Table, existing: Item | None, factor: int = 1) -> None:
        """A conditional write that failed costs what the existing item's size does, at least one unit.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html
        """
        self._add_write(self._bill(table), factor * write_units(existing, None))

    def read(self, table: Table, items: Iterable[Item], consistent: bool, index: Index | None = None) -> None:
        """Items read together (one, or those a query went through): their sizes add up before rounding."""
        units = _units(sum(item_size(item) for item in items), READ_UNIT_BYTES) * (1.0 if consistent else 0.5)
        bill = self._bill(table)
        self._usage.read += units
        if index is None:
            bill.read += units
        else:
            bill.index_read[index.name] = bill.index_read.get(index.name, 0.0) + units

    def shown(self, wanted: str | None) -> list[dict[str, Any]]:
        """As ReturnConsumedCapacity asks: NONE, TOTAL or INDEXES."""
        if wanted not in ("TOTAL", "INDEXES"):
            return []
        return [_shown(name, bill, wanted == "INDEXES") for name, bill in self._bills.items()]

    def answer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """For operations on one table."""
        shown = self.shown(params.get("ReturnConsumedCapacity"))
        return {"ConsumedCapacity": shown[0]} if shown else {}

    def answers(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """For operations on several tables."""
        shown = self.shown(params.get("ReturnConsumedCapacity"))
        return {"ConsumedCapacity": shown} if shown else {}

    def _bill(self, table: Table) -> Bill:
        return self._bills.setdefault(table.name, Bill())

    def _add_write(self, bill: Bill, units: float) -> None:
        self._usage.write += units
        bill.write += units


def write_units(old: Item | None, new: Item | None) -> float:
    return _units(max(item_size(old or {}), item_size(new or {})), WRITE_UNIT_BYTES)


def index_write_units(index: Index, old: Item | None, new: Item | None) -> float:
    """One write to put, change or remove an entry; two where its key changes, for the old and the new one."""
    before, after = index.entry(old), index.entry(new)
    if before is after or before == after:
        return 0.0
    if before is None or after is None or index.schema.of_entry(before) == index.schema.of_entry(after):
        return write_units(before, after)
    return write_units(before, None) + write_units(None, after)


def _units(size: int, unit: int) -> float:
    return float(max(-(-size // unit), 1))


def _shown(table: str, bill: Bill, with_indexes: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"TableName": table, **_figures(bill.total_read, bill.total_write)}
    if with_indexes:
        shown["Table"] = _figures(bill.read, bill.write)
        names = dict.fromkeys([*bill.index_read, *bill.index_write])
        if names:
            shown["GlobalSecondaryIndexes"] = {
                name: _figures(bill.index_read.get(name, 0.0), bill.index_write.get(name, 0.0))
                for name in names
            }
    return shown


def _figures(read: float, write: float) -> dict[str, float]:
    figures = {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
    return {"CapacityUnits": read + write, **{name: units for name, units in figures.items() if units}}
