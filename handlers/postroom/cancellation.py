"""DELETE /jobs/{id}: cancel what has not started, of an event or of one job.

A job whose whole effect is a commit is cancelled at once: the commit is conditional on the job's row, so one
of the two wins. Whether a call is under way, or a write that is its own marker, its row does not tell: such a
job is asked to stop. Its next delivery ends it unrun; a run that is under way may still complete it.

A job that takes its events in order is not cancelled: what follows would wait for it for ever.

A fan-out is stopped as a whole: neither a further step nor a message that waits is worked on after that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import fanout, job_rows, strict_json
from .errors import ConditionFailed
from .http import Answer, Request
from .intake import is_looked_up_always
from .job_facts import EventDocument, Facts, SeenJob, facts_asked_for
from .job_views import CANCELLED, CANCELLING, QUEUED, JobDocument
from .jobs import JobType
from .operations import Operation, Reply
from .problems import NOT_YOURS, Problem
from .status import when_to_look_again
from .storage import Store, Update

STOPPABLE = frozenset({QUEUED, "running", "retrying"})
CANCEL_JOBS = Operation(
    "DELETE /jobs/{id}",
    "Cancel what has not started, of an event or of one job",
    {
        200: Reply("All that was left is cancelled.", EventDocument | JobDocument, ("Cache-Control",)),
        202: Reply(
            "It is asked to stop; a call that is under way may still complete.",
            EventDocument | JobDocument,
            ("Cache-Control", "Retry-After"),
        ),
    },
    {404: NOT_YOURS, 409: "There is nothing left to cancel."},
    is_cancellation=True,
)


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Cancels for the caller's own events and jobs; for anything else, the one 404."""

    store: Store
    job_types: Sequence[JobType[Any]]
    clock: Callable[[], float]

    def __call__(self, request: Request) -> Answer:
        """200 when all that was left is cancelled, 202 while a job may still complete.

        Raises `Problem`: 404 as for a GET, 409 when nothing of it could be cancelled any more.
        """
        before = facts_asked_for(request, self.store, self.job_types)
        if before.progress:
            self._try(fanout.stopped(before.event_key, self.clock()))
        for job in before.jobs:
            if job.view.state in STOPPABLE and not job.job_type.is_ordered:
                self._try(_stopping(job, request.caller, self.clock()))
        after = facts_asked_for(request, self.store, self.job_types)
        return _answer(after)

    def _try(self, update: Update) -> None:
        try:
            self.store.write(update)
        except ConditionFailed:
            # it has ended or started meanwhile: what the row says then is the answer
            return


def _stopping(job: SeenJob, owner: str, now: float) -> Update:
    stop = job_rows.cancelling if is_looked_up_always(job.job_type) else job_rows.cancelled
    return stop(job.job_type.row_key(job.event_id), owner, now)


def _answer(facts: Facts) -> Answer:
    document = facts.document
    states = {document["state"], *(job.view.state for job in facts.jobs)}
    if states.isdisjoint({CANCELLED, CANCELLING}):
        raise Problem(409, "not_cancellable", f"It is {document['state']}: there is nothing left to cancel.")
    status = 202 if CANCELLING in states else 200
    headers = {"Cache-Control": "no-store", **when_to_look_again(document)}
    return Answer.json(status, strict_json.dumps(document), headers)
