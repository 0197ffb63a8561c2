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
    keys = _keys_to_read(intake, is_looked_up_always(job_type))
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
        if delivery.event.id in seen:
            delivery = replace(delivery, is_second_copy=True)
        seen.add(delivery.event.id)
        usual = record.is_first_receive and not delivery.is_second_copy and not delivery.fault
        (intake.first if usual else intake.suspects).append(delivery)
    return intake


def _open(job_type: JobType[D], record: Record) -> Delivery[D]:
    envelope = read_envelope(record.body)
    try:
        event = job_type.on.parse(envelope)
        return Delivery(job_type, record, event, to_load=job_type.load(event))
    except Exception as error:  # noqa: BLE001 - a bad payload or a bug in the author's `load`: this job's alone
        return Delivery(job_type, record, Event(**dict(envelope)), fault=error)


def is_looked_up_always(job_type: JobType[Any]) -> bool:
    """Whether first receives are looked up, too.

    A call cannot be taken back, a write that is its own marker does not see its job's row, and what was
    parked comes back as a new message. Any other commit is guarded by its own condition on the row, so its
    first receive needs no read.
    """
    return isinstance(job_type, CallJob) or job_type.marker is not None or job_type.is_ordered


def _keys_to_read(intake: Intake[Any], all_looked_up: bool) -> list[Key]:
    everything = [*intake.first, *intake.suspects]
    keys = [key for each in (everything if all_looked_up else intake.suspects) for key in each.status_keys]
    loads = [key for each in everything for key in each.to_load.values()]
    return list(dict.fromkeys([*keys, *loads]))


def _informed(delivery: Delivery[D], found: Mapping[Key, Item]) -> Delivery[D]:
    informed = delivery.informed(found)
    if not informed.to_load:
        return informed
    return replace(informed, loaded={name: found.get(key) for name, key in informed.to_load.items()})


def _least_suspect_first(delivery: Delivery[Any]) -> tuple[bool, int]:
    """A record that has killed a process goes last, so that its neighbours are done by then."""
    marked = bool(delivery.row and "starting" in delivery.row)
    return marked, delivery.record.receive_count
