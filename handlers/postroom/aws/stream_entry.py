"""The relay's Lambda handlers: from the table's stream, and by schedule."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ..relay import OutboxRow, Relay, StreamRecord, relay_stream
from ..storage import Key
from ..sweep import Sweep
from ..traces import of_event
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler
from .metrics import Measured, Metric, measured
from .tables import DynamoStore
from .topic import SnsTopic
from .xray import Segment, Traces


def relay_handler() -> Entry:
    """Publishes the inserts of a stream batch that carry an event; reports where to rewind to."""

    def build(deployment: Deployment) -> LambdaHandler:
        relay, traces = _relay(deployment), Traces(deployment)

        def handle(event: Any, _context: LambdaContext) -> Any:
            records = [record for raw in event["Records"] if (record := stream_record(raw))]
            with measured(deployment) as values:
                rewind_to = relay_stream(records, relay, deployment.clock())
                _measure(values, records, rewind_to, deployment.clock())
            for record in _published(records, rewind_to):
                traces.add(of_event(record.row.event), Segment("relay", record.born_at, deployment.clock()))
            failures = [] if rewind_to is None else [{"itemIdentifier": rewind_to}]
            return {"batchItemFailures": failures}

        return handle

    return Entry(build)


def sweep_handler() -> Entry:
    """Publishes rows that have waited for more than a minute; returns how many there were."""

    def build(deployment: Deployment) -> LambdaHandler:
        sweep = Sweep(_relay(deployment))

        def handle(_event: Any, _context: LambdaContext) -> Any:
            now = deployment.clock()
            with measured(deployment) as values:
                swept = sweep.run(now)
                values.add(Metric.OUTBOX_LAG_SECONDS, swept.oldest_seconds)
                values.add(Metric.OUTBOX_REFUSED_SECONDS, sweep.refused_seconds(now))
            return {"swept": swept.rows}

        return handle

    return Entry(build)


def _measure(values: Measured, records: Sequence[StreamRecord], rewind_to: str | None, now: float) -> None:
    if rewind_to is not None:
        values.add(Metric.RELAY_REWINDS)
    for record in _published(records, rewind_to):
        values.add(Metric.RELAY_SECONDS, max(0.0, now - record.born_at))


def _published(records: Sequence[StreamRecord], rewind_to: str | None) -> Iterator[StreamRecord]:
    return takewhile(lambda record: record.sequence_number != rewind_to, records)


def stream_record(raw: Mapping[str, Any]) -> StreamRecord | None:
    """A stream record that owes a publication: an INSERT with an event; None for everything else.

    A removal by TTL, a relay's own mark and any other change wake nobody, whatever the mapping's filter says.
    docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html
    """
    change = raw["dynamodb"]
    image = change.get("NewImage") or {}
    event = image.get("event", {}).get("S")
    if raw.get("eventName") != "INSERT" or not event:
        return None
    key = Key("shop", change["Keys"]["pk"]["S"], change["Keys"]["sk"]["S"])
    return StreamRecord(
        change["SequenceNumber"],
        OutboxRow(key, event, bool(image.get("ordered", {}).get("BOOL"))),
        float(change.get("ApproximateCreationDateTime", 0)),
    )


def _relay(deployment: Deployment) -> Relay:
    return Relay(
        SnsTopic(deployment),
        DynamoStore(deployment),
        deployment.new_id,
        deployment.sleep,
        deployment.chance,
    )
