"""parcel.sent → a notice for the recipient, posted once for each parcel."""

from datetime import UTC, datetime

from .parcels.parcels import PARCEL_SENT, ParcelSent
from .postroom.aws.queue_entry import queue_handler
from .postroom.errors import AlreadyDone
from .postroom.jobs import Commit, Job, commit_job
from .postroom.storage import Key, Put

HEAVY_GRAMS = 10_000


@commit_job("notices", on=PARCEL_SENT, since=datetime(2026, 11, 30, tzinfo=UTC))
def post_notice(job: Job[ParcelSent]) -> Commit:
    needs = 2 if job.data.grams > HEAVY_GRAMS else 1
    notice = Put(
        Key("shop", job.event.aggregate, "notice"),
        {"carriers": needs},
        refused=AlreadyDone("the notice is posted"),
    )
    return Commit([notice], result={"carriers": needs})


handler = queue_handler(post_notice)
