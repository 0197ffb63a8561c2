"""Jobs: which are late or dead, and everything that is known of one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.cancellation import Cancellation
from handlers.postroom.http import Request
from handlers.postroom.job_views import JobView, view_of
from handlers.postroom.jobs import JobType
from handlers.postroom.problems import Problem
from handlers.postroom.storage import Item, Key
from infra.ops.core.errors import Refused
from infra.ops.core.target import Target

LISTED_STATES = ("dead", "retrying", "parked")
WATCH_SECONDS = 1.0


@dataclass(frozen=True)
class JobFacts:
    """One job: its row and marker as they are, and the view that its owner has."""

    id: str
    subscriber: str
    row: Item
    marker: Item | None

    @property
    def view(self) -> JobView:
        return view_of(self.id, self.row or None, self.marker)

    @property
    def state(self) -> str:
        """As an operator sees it: a job that is parked until its turn merely waits for its owner."""
        is_parked = self.marker is None and self.row.get("state") == "parked"
        return "parked" if is_parked else self.view.state


def listed(target: Target, state: str, subscriber: str | None, limit: int) -> list[JobFacts]:
    """Jobs in a state that has an index, the latest first. The row itself has the last word on its state."""
    keys = _indexed(target, state, subscriber, limit)
    rows = target.store.read(keys) if keys else {}
    known = ((key, rows.get(key, {})) for key in keys)
    return [
        JobFacts(f"{key.pk}:{key.sk}", key.sk, row, None) for key, row in known if row.get("state") == state
    ]


def of_event(target: Target, named: str) -> list[JobFacts]:
    """The jobs of an event, or the one job, by id. Raises `Refused` when there is none."""
    event_id, _, subscriber = named.partition(":")
    concerned = [each for each in target.job_types if each.on.type_of(event_id)]
    wanted = [each for each in concerned if subscriber in ("", each.subscriber)]
    keys = [key for each in wanted for key in _keys(each, event_id)]
    found = target.store.read(dict.fromkeys(keys)) if keys else {}
    if not any(key in found for key in keys):
        raise Refused(f"there is no event or job {named!r}")
    facts = (_facts(each, event_id, found) for each in wanted)
    return [one for one in facts if one is not None]


def watched(target: Target, named: str) -> Iterator[Sequence[JobFacts]]:
    """Look again and again until every job has ended."""
    while True:
        facts = of_event(target, named)
        yield facts
        if not any(one.view.is_open for one in facts):
            return
        target.sleep(WATCH_SECONDS)


def cancel(target: Target, named: str) -> Mapping[str, Any]:
    """Cancel what has not started, exactly as the owner's DELETE does; what the API then says of it.

    Raises `Refused` when there is nothing to cancel.
    """
    owner = _owner(target, named)
    request = Request(owner, path_parameters={"id": named}, method="DELETE")
    try:
        answer = Cancellation(target.store, target.job_types, target.clock)(request)
    except Problem as problem:
        raise Refused(problem.detail) from problem
    document: Mapping[str, Any] = json.loads(answer.body)
    return document


def _owner(target: Target, named: str) -> str:
    """Whose it is: the event and each row know."""
    event_id = named.partition(":")[0]
    keys = dict.fromkeys(key for each in target.job_types for key in _keys(each, event_id))
    owners = (str(item["owner"]) for item in target.store.read(keys).values() if "owner" in item)
    owner = next(owners, None)
    if owner is None:
        raise Refused(f"there is no event or job {named!r}")
    return owner


def _keys(job_type: JobType[Any], event_id: str) -> list[Key]:
    marker = job_type.marker_key(event_id)
    event_type = job_type.on.type_of(event_id)
    event = [event_type.row_key(event_id)] if event_type else []
    return [*event, job_type.row_key(event_id), *([marker] if marker else [])]


def _facts(job_type: JobType[Any], event_id: str, found: dict[Key, Item]) -> JobFacts | None:
    event, row, *marker = _keys(job_type, event_id)
    if not any(key in found for key in (event, row, *marker)):
        return None
    its_marker = found.get(marker[0]) if marker else None
    return JobFacts(job_type.job_id(event_id), job_type.subscriber, found.get(row, {}), its_marker)


def _indexed(target: Target, state: str, subscriber: str | None, limit: int) -> list[Key]:
    keys: list[Key] = []
    for key in _index_keys(target, state):
        if len(keys) == limit:
            break
        if subscriber in (None, key.sk):
            keys.append(key)
    return keys


def _index_keys(target: Target, state: str) -> Iterator[Key]:
    pages = (
        target.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=target.physical_id("JobsTable"),
            IndexName="open",
            KeyConditionExpression="#open = :state",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":state": {"S": state}},
            ScanIndexForward=False,
        )
    )
    for page in pages:
        for item in map(from_attributes, page["Items"]):
            yield Key("jobs", item["pk"], item["sk"])
