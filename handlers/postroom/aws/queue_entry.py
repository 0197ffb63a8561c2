"""A subscriber's Lambda handler: SQS batch in, partial batch response out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from ..consumer import Consumer
from ..events import D
from ..jobs import Call, CallJob, CommitJob, P, Result
from ..records import COMPLETED, DEAD, EXPIRED, Outcome, Record
from ..settlement import Surroundings
from ..traces import of_event
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler
from .metrics import Measured, Metric, measured
from .queue import SqsQueue, Visibility
from .tables import DynamoStore
from .xray import Segment, Traces


class QueueEntry(Entry):
    """An `Entry` that tells which type of job it works on."""

    def __init__(
        self, job_type: CommitJob[Any] | CallJob[Any, Any], build: Callable[[Deployment], LambdaHandler]
    ) -> None:
        super().__init__(build)
        self.job_type = job_type


@overload
def queue_handler(job_type: CommitJob[D]) -> QueueEntry: ...


@overload
def queue_handler(job_type: CallJob[D, P], provider: Callable[[Deployment], P]) -> QueueEntry: ...


def queue_handler(
    job_type: CommitJob[Any] | CallJob[Any, Any], provider: Callable[[Deployment], Any] | None = None
) -> QueueEntry:
    """The `handler` of a subscriber. `provider` makes what a `Call`'s function receives, on first use."""

    def build(deployment: Deployment) -> LambdaHandler:
        queue = SqsQueue(deployment)
        around = Surroundings(
            DynamoStore(deployment), deployment.clock, deployment.chance, deployment.sleep, queue
        )
        traces = Traces(deployment)
        consumer: Consumer[Any] = Consumer(job_type, around, _performer(provider, deployment))

        def handle(event: Any, context: LambdaContext) -> Any:
            records = [Record.from_lambda(raw) for raw in event["Records"]]
            started = deployment.clock()
            with measured(deployment, job_type.subscriber) as values:
                outcomes = consumer.handle(records, context.get_remaining_time_in_millis)
                _measure(values, records, outcomes, deployment.clock())
            queue.change_visibility(_changes(records, outcomes))
            # Of the whole invocation: the jobs of a batch are done together.
            whole = Segment(job_type.subscriber, started, deployment.clock())
            for record in records:
                traces.add(of_event(record.body), _about(whole, record, outcomes[record.message_id]))
            return batch_response(records, outcomes)

        return handle

    return QueueEntry(job_type, build)


def _about(whole: Segment, record: Record, outcome: Outcome) -> Segment:
    told: dict[str, str | int] = {"outcome": outcome.name, "receives": record.receive_count}
    return replace(whole, annotations=told, is_fault=outcome.run_failed)


def _measure(
    values: Measured, records: Sequence[Record], outcomes: Mapping[str, Outcome], now: float
) -> None:
    for record in records:
        outcome = outcomes[record.message_id]
        if outcome.run_failed:
            values.add(Metric.ATTEMPTS_FAILED)
        if outcome == COMPLETED:
            values.add(Metric.JOBS_COMPLETED)
            values.add(Metric.JOB_SECONDS, max(0.0, now - record.sent_at))
        elif outcome == EXPIRED:
            values.add(Metric.JOBS_EXPIRED)
        elif outcome == DEAD and outcome.run_failed:
            values.add(Metric.JOBS_DEAD)


def batch_response(records: Sequence[Record], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """Lambda deletes what is not listed here. A message that came twice in one batch is listed once.

    docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting
    """
    ids = dict.fromkeys(record.message_id for record in records)
    kept = [one for one in ids if outcomes[one].visibility_seconds is not None]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in kept]}


def _changes(records: Sequence[Record], outcomes: Mapping[str, Outcome]) -> list[Visibility]:
    return [
        Visibility(record.receipt_handle, seconds)
        for record in records
        if (seconds := outcomes[record.message_id].visibility_seconds) is not None
    ]


def _performer(
    provider: Callable[[Deployment], Any] | None, deployment: Deployment
) -> Callable[[Call[Any]], Result]:
    made: list[Any] = []

    def perform(call: Call[Any]) -> Result:
        if not made:
            made.append(provider(deployment) if provider else None)
        return call.fn(made[0])

    return perform
