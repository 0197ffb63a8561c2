"""From records to deliveries: read each body on its own, look up what is known in one consistent read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from .deliveries import Delivery
from .errors import Unreadable
from .events import D, Event, read_envelope
from .jobs import CallJob, JobType
from .records import Record
from .storage import Item, Key, Store


@dataclass(slots=True)
class Intake(Generic[D]):
    """A batch, sorted by how it is to be treated.

    `first` holds first receives, which nothing speaks against. `suspects` have been received before, are a
    second copy within the batch, or have a payload that cannot be read: they are done after, one by one.
    `unreadable` are records that are no event at all, so that there is no job to speak of.
    """

    first: list[Delivery[D]] = field(default_factory=list)
    suspects: list[Delivery[D]] = field(default_factory=list)
    unreadable: list[tuple[Record, Unreadable]] = field(default_factory=list)


def take_in(job_type: JobType[D], records: Sequence[Record], store: Store) -> Intake[D]:
    """Read and look up a whole batch. One unreadable body never fails its neighbours."""
    intake = _sort(job_type, records)
    keys = _keys_to_read(intake, isinstance(job_type, CallJob))
    found = store.read(keys) if keys else {}
    intake.first = [_informed(delivery, found) for delivery in intake.first]
    intake.suspects = sorted((_informed(each, found) for each in intake.suspects), key=_least_suspect_first)
    return intake


def _sort(job_type: JobType[D], records: Sequence[Record]) -> Intake[D]:
    intake: Intake[D] = Intake()
    seen: set[str] = set()
    for record in records:
        try:
            delivery = _open(job_type, record)
        except Unreadable as error:
            intake.unreadable.append((record, error))
            continue
        delivery = replace(delivery, is_second_copy=delivery.event.id in seen)
        seen.add(delivery.event.id)
        usual = record.is_first_receive and not delivery.is_second_copy and not delivery.unreadable
        (intake.first if usual else intake.suspects).append(delivery)
    return intake


def _open(job_type: JobType[D], record: Record) -> Delivery[D]:
    envelope = read_envelope(record.body)
    try:
        return Delivery(job_type, record, job_type.on.parse(envelope))
    except Unreadable as error:
        return Delivery(job_type, record, _unvalidated(envelope), unreadable=error)


def _unvalidated(envelope: Any) -> Event[Any]:
    return Event(**dict(envelope))


def _keys_to_read(intake: Intake[Any], calls: bool) -> list[Key]:
    # a call cannot be taken back, so it is always looked up; a commit's own condition guards first receives
    looked_up = [*intake.first, *intake.suspects] if calls else intake.suspects
    keys = [key for delivery in looked_up for key in delivery.status_keys]
    loads = [key for each in [*intake.first, *intake.suspects] for key in _loads(each).values()]
    return list(dict.fromkeys([*keys, *loads]))


def _loads(delivery: Delivery[Any]) -> Mapping[str, Key]:
    return {} if delivery.unreadable else delivery.job_type.load(delivery.event)


def _informed(delivery: Delivery[D], found: Mapping[Key, Item]) -> Delivery[D]:
    loaded = {name: found.get(key) for name, key in _loads(delivery).items()}
    return replace(delivery.informed(found), loaded=loaded)


def _least_suspect_first(delivery: Delivery[Any]) -> tuple[bool, int]:
    """A record that has killed a process goes last, so that its neighbours are done by then."""
    marked = bool(delivery.row and "starting" in delivery.row)
    return marked, delivery.record.receive_count
