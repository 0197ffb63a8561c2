"""Databases that do what they should not, behind the port that the engine knows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.errors import CancelledBecause, ConditionFailed, TransactionCancelled
from handlers.postroom.records import Record
from handlers.postroom.storage import Item, Key, Put, Update, Write
from handlers.shop.orders import order_key


class InTwoSteps(DynamoStore):
    """Marker and effect, one after the other."""

    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return writes

    def transact(self, writes: Sequence[Write]) -> None:
        for write in self._in_order(writes):
            try:
                self.write(write)
            except ConditionFailed as failed:
                because = CancelledBecause("ConditionalCheckFailed", "", failed.old)
                raise TransactionCancelled(
                    tuple(because if each is write else None for each in writes)
                ) from failed


class MarkerFirst(InTwoSteps):
    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return sorted(writes, key=lambda write: write.key.table != "jobs")


class MarkerLast(InTwoSteps):
    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return sorted(writes, key=lambda write: write.key.table == "jobs")


class ConflictIsDuplicate(DynamoStore):
    def transact(self, writes: Sequence[Write]) -> None:
        try:
            super().transact(writes)
        except TransactionCancelled as cancelled:
            done = CancelledBecause("ConditionalCheckFailed", "", {"state": "completed"})
            raise TransactionCancelled(tuple(reason and done for reason in cancelled.reasons)) from cancelled


class Unconditional(DynamoStore):
    def write(self, write: Write) -> None:
        super().write(replace(write, condition=None) if isinstance(write, Put) else write)


class DeadIsDead(DynamoStore):
    """Takes whatever message comes for the one that its job died with."""

    now_at: Sequence[Record] = ()

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return {
            key: {**item, "messageId": self.now_at[0].message_id} if item.get("state") == "dead" else item
            for key, item in super().read(keys).items()
        }


class TellingLedger(DynamoStore):
    """Notes whom a failure concerned, by address."""

    def write(self, write: Write) -> None:
        if isinstance(write, Update) and "failures" in write.append:
            order = order_key(write.key.pk.removeprefix("order-").removesuffix("-paid"))
            address = self.read([order])[order]["email"]
            entries = [{**each, "customer": address} for each in write.append["failures"]]
            write = replace(write, append={"failures": entries})
        super().write(write)


class Overruling(DynamoStore):
    """Believes the dead letter, not the row."""

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return {key: {} for key in super().read(keys)}

    def write(self, write: Write) -> None:
        super().write(replace(write, condition=None) if isinstance(write, Update) else write)
