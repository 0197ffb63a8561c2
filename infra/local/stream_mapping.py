"""Event source mapping of a DynamoDB stream: in order, retried from the first failure, bisected, bounded.

Source: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html, services-ddb-batchfailurereporting.html
and services-dynamodb-errors.html.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from infra.local.batch_answers import MalformedAnswerError, failed_items
from infra.local.discards import Discard
from infra.local.filters import Predicate, any_of
from infra.local.functions import Function, Invocation

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
"""Lambda backs off between retries of a batch and does not document by how much; these figures are ours."""

Record = dict[str, Any]
"""A stream record in the shape Lambda hands to a function."""


class Stream(Protocol):
    """What a mapping needs of a table's stream. A position is opaque; `None` is the trim horizon."""

    @property
    def arn(self) -> str: ...

    def latest(self) -> int: ...

    def read(self, position: int | None, limit: int) -> tuple[Sequence[Record], int]:
        """Return up to `limit` records from `position` on, and the position after them."""


@dataclass(frozen=True)
class StreamMappingSettings:
    """`record_age` is in seconds; it and `retries` are without limit when None."""

    batch_size: int = 100
    from_start: bool = True
    reports_failures: bool = False
    bisects: bool = False
    retries: int | None = None
    record_age: float | None = None
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Batch:
    records: tuple[Record, ...]
    failures: int = 0

    def after(self, index: int) -> _Batch:
        """What is left when the first `index` records are done: the same batch if none is, or a new one."""
        return replace(self, records=self.records[index:], failures=self.failures if index == 0 else 0)


@dataclass
class StreamMapping:
    """Feeds one stream (of one shard) to one function, one batch at a time."""

    name: str
    stream: Stream
    function: Function
    settings: StreamMappingSettings
    clock: Callable[[], float]
    discard: Callable[[Discard], None]
    stopping: threading.Event
    concurrency: int = 1
    _position: int | None = None
    _waiting: deque[_Batch] = field(default_factory=deque)
    _not_before: float = 0
    _in_work: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._wanted: Predicate = any_of(self.settings.patterns)
        if not self.settings.from_start:
            self._position = self.stream.latest()

    def next_due(self) -> float | None:
        """When a failed batch is tried again (epoch seconds), if one waits."""
        return self._not_before if self._waiting else None

    def claim(self) -> Callable[[], int] | None:
        """Take the next batch, unless one is in work or waits for its retry.

        Returns the work of handing it over, which gives the number of its records.
        """
        if (
            self.stopping.is_set()
            or self.clock() < self._not_before
            or not self._in_work.acquire(blocking=False)
        ):
            return None
        batch = self._without_aged(self._waiting.popleft() if self._waiting else _Batch(self._read()))
        if batch.records:
            return lambda: self._hand_over(batch)
        self._in_work.release()
        return None

    def _hand_over(self, batch: _Batch) -> int:
        try:
            self._invoke(batch)
        finally:
            self._in_work.release()
        return len(batch.records)

    def _read(self) -> tuple[Record, ...]:
        batch: list[Record] = []
        while len(batch) < self.settings.batch_size:
            records, self._position = self.stream.read(self._position, self.settings.batch_size - len(batch))
            if not records:
                break
            batch += filter(self._wanted, records)
        return tuple(batch)

    def _without_aged(self, batch: _Batch) -> _Batch:
        if self.settings.record_age is None:
            return batch
        oldest = self.clock() - self.settings.record_age
        aged = [record for record in batch.records if _arrival(record) < oldest]
        if aged:
            self._discard(aged, "RecordAgeExceeded", batch.failures, None)
        return batch.after(len(aged))

    def _invoke(self, batch: _Batch) -> None:
        invocation = self.function.invoke({"Records": list(batch.records)})
        done = self._done(batch, invocation)
        if done == len(batch.records):
            self._not_before = 0
        elif invocation.error and self.settings.bisects and len(batch.records) > 1:
            self._bisect(batch)
        else:
            self._retry(batch.after(done), invocation)

    def _done(self, batch: _Batch, invocation: Invocation) -> int:
        """How many records, from the first on, need not come again."""
        if invocation.error is not None:
            return 0
        numbers = [sequence_number(record) for record in batch.records]
        if not self.settings.reports_failures:
            return len(numbers)
        try:
            failed = failed_items(invocation.answer, numbers)
        except MalformedAnswerError:
            return 0
        return min((numbers.index(number) for number in failed), default=len(numbers))

    def _bisect(self, batch: _Batch) -> None:
        # "Splitting batches doesn't consume the retry quota."
        middle = (len(batch.records) + 1) // 2
        self._waiting.appendleft(replace(batch, records=batch.records[middle:]))
        self._waiting.appendleft(replace(batch, records=batch.records[:middle]))
        self._back_off(0)

    def _retry(self, batch: _Batch, invocation: Invocation) -> None:
        failed = replace(batch, failures=batch.failures + 1)
        if self.settings.retries is not None and failed.failures > self.settings.retries:
            self._discard(failed.records, "RetryAttemptsExhausted", failed.failures, invocation)
            return
        self._waiting.appendleft(failed)
        self._back_off(failed.failures - 1)

    def _back_off(self, earlier_failures: int) -> None:
        delay = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2**earlier_failures)
        self._not_before = self.clock() + delay

    def _discard(
        self, records: Sequence[Record], condition: str, invocations: int, last: Invocation | None
    ) -> None:
        self.discard(
            Discard(
                request_id=last.request_id if last else "",
                function_arn=self.function.settings.arn,
                condition=condition,
                invocations=invocations,
                answered=last is not None and last.error is None,
                at=self.clock(),
                stream_arn=self.stream.arn,
                first=sequence_number(records[0]),
                last=sequence_number(records[-1]),
                first_arrival=_arrival(records[0]),
                last_arrival=_arrival(records[-1]),
                records=len(records),
            )
        )


def sequence_number(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def _arrival(record: Record) -> float:
    return float(record["dynamodb"]["ApproximateCreationDateTime"])
