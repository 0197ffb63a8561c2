"""account.credited, account.charged, account.refunded → the account's statement, strictly in their order."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Commit, Job, commit_job
from .postroom.retries import RetryPolicy
from .shop.accounts import ACCOUNT, AccountMoved
from .shop.statements import entry


@commit_job(
    "statement",
    on=ACCOUNT,
    # while one is retried, its account waits: no longer than a minute between two tries
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=60_000),
    ordered=True,
)
def write_line(job: Job[AccountMoved]) -> Commit:
    return Commit(entry(job.event), result={"line": job.event.sequence})


handler = queue_handler(write_line)
