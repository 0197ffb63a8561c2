"""An account's movements, and a clerk who writes statements of them and can have troubles."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from handlers import queue_statement
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.events import Event
from handlers.postroom.jobs import Commit, CommitJob, Job, commit_job
from handlers.postroom.outbox import event_row
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.shop.accounts import ACCOUNT, ACCOUNT_CREDITED, AccountMoved, aggregate_of
from tests.path.conftest import OpenShop
from tests.path.mortal_shop import redriven_after
from tests.path.shop import Shop

EIGHT_RECEIVES = 8
QUICK = RetryPolicy(attempts=3, base_ms=1_000, jitter=Jitter.NONE)


@dataclass
class Clerk:
    """Writes statements, unless a movement (account, number) has troubles coming. Notes what was begun."""

    troubles: dict[tuple[str, int], list[BaseException]] = field(default_factory=dict)
    while_running: Callable[[str, int], None] = lambda _account, _number: None
    begun: list[tuple[str, int]] = field(default_factory=list)

    @property
    def job_type(self) -> CommitJob[AccountMoved]:
        return commit_job("statement", on=ACCOUNT, retry=QUICK, ordered=True)(self._run)

    def _run(self, job: Job[AccountMoved]) -> Commit:
        movement = job.data.account_id, job.event.sequence
        self.begun.append(movement)
        self.while_running(*movement)
        if self.troubles.get(movement):
            raise self.troubles[movement].pop(0)
        return queue_statement.write_line.run(job)


def open_shop_with(clerk: Clerk, open_shop: OpenShop) -> Shop:
    """Its statement queue gives up after eight receives."""
    changes = redriven_after("StatementQueue", EIGHT_RECEIVES)
    return open_shop(changes, statement=queue_handler(clerk.job_type))


def movement(shop: Shop, account: str, number: int) -> Event[AccountMoved]:
    return ACCOUNT_CREDITED.new(
        aggregate_of(account),
        AccountMoved(account_id=account, amount=100, balance=100 * number, currency="NGN"),
        sequence=number,
        time=datetime.fromtimestamp(shop.clock.now(), UTC),
        owner="ada",
        trace="",
    )


def move(shop: Shop, account: str, *numbers: int) -> None:
    for number in numbers:
        shop.store.write(event_row(ACCOUNT_CREDITED, movement(shop, account, number)))


def lines_of(shop: Shop, account: str) -> list[int]:
    """The balances on a statement, line by line."""
    items = shop.shop_items(aggregate_of(account))
    return [item["balance"] for item in sorted(items, key=_by_place) if item["sk"].startswith("statement-")]


def closing_balance(shop: Shop, account: str) -> int:
    (foot,) = (item for item in shop.shop_items(aggregate_of(account)) if item["sk"] == "statement")
    return int(foot["balance"])


def states(shop: Shop, account: str, *numbers: int) -> list[str]:
    """As the owner sees them."""
    return [shop.states(ACCOUNT_CREDITED.event_id(aggregate_of(account), n))["statement"] for n in numbers]


def kept_states(shop: Shop, account: str, *numbers: int) -> set[str]:
    """As the rows have them."""
    ids = (ACCOUNT_CREDITED.event_id(aggregate_of(account), number) for number in numbers)
    return {shop.jobs(each)["statement"]["state"] for each in ids}


def balances(*numbers: int) -> list[int]:
    return [100 * number for number in numbers]


def _by_place(item: Any) -> str:
    return str(item["sk"])
