"""The indexes of jobs in trouble: what lists them, and that only trouble pays for it."""

from dataclasses import dataclass
from typing import Any

import pytest

from handlers.postroom import job_rows
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.job_index import DynamoJobIndex
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.deliveries import Delivery
from handlers.postroom.errors import Transient
from handlers.postroom.job_lists import Place
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.postroom.records import Record
from handlers.postroom.storage import Key, Update
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock

from .conftest import NOW, THING_DONE, ThingDone, Time, sqs_record, thing

ROW_KEY = Key("jobs", "thing-1001-done", "points")


@commit_job("points", on=THING_DONE)
def credit(job: Job[ThingDone]) -> Commit:
    return Commit([])


@dataclass
class Jobs:
    """The Jobs table with its two indexes, as the template makes it, and what writes to it cost."""

    aws: LocalAws
    store: DynamoStore
    time: Time

    def delivery(self, number: int = 1001) -> Delivery[ThingDone]:
        record = Record.from_lambda(sqs_record(thing(number)))
        key = credit.row_key(thing(number).id)
        return Delivery(credit, record, thing(number)).with_row(self.store.read([key]).get(key))

    def fail(self, number: int = 1001, *, dead: bool = False) -> float:
        self.time.now += 1
        error = Transient("away")
        return self.write(job_rows.failed(self.delivery(number), error, dead=dead, now=self.time.now))

    def write(self, update: Update) -> float:
        with self.aws.metered() as calls:
            self.store.write(update)
        return sum(call.write_units for call in calls)

    def listed(self, state: str, limit: int = 10, after: Place | None = None) -> list[Place]:
        return list(DynamoJobIndex(self.store).page(f"{state}#alice", limit, after).places)


@pytest.fixture
def jobs(time: Time) -> Jobs:
    aws = LocalAws(ManualClock(NOW.timestamp()))
    session = aws.session()
    client: Any = session.client("dynamodb")
    client.create_table(
        TableName="Jobs",
        KeySchema=_keys("pk", "sk"),
        AttributeDefinitions=[
            *({"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "open", "ownedOpen")),
            {"AttributeName": "since", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": _keys(name, "since"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for name in ("open", "ownedOpen")
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    deployment = Deployment({"SHOP_TABLE": "Shop", "JOBS_TABLE": "Jobs"}, session, clock=time)
    return Jobs(aws, DynamoStore(deployment), time)


def _keys(partition: str, sort: str) -> Any:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def test_a_job_that_goes_well_pays_for_no_index(jobs: Jobs) -> None:
    assert jobs.write(job_rows.completed(jobs.delivery(), {"points": 204}, jobs.time.now)) == 1


def test_trouble_pays_when_it_begins_and_when_it_ends_and_nothing_for_the_retries_between(
    jobs: Jobs,
) -> None:
    begins, *retries = (jobs.fail() for _ in range(4))
    dies = jobs.fail(dead=True)

    assert begins == 1 + 1 + 1
    assert retries == [1, 1, 1]
    assert dies == 1 + 2 + 2


def test_a_job_is_listed_by_what_it_is_at_the_moment(jobs: Jobs) -> None:
    jobs.fail()
    assert (len(jobs.listed("retrying")), jobs.listed("dead")) == (1, [])

    jobs.fail(dead=True)
    assert (jobs.listed("retrying"), len(jobs.listed("dead"))) == ([], 1)

    jobs.write(job_rows.reopened(jobs.delivery(), jobs.time.now))
    assert (len(jobs.listed("retrying")), jobs.listed("dead")) == (1, [])

    jobs.write(job_rows.completed(jobs.delivery(), {}, jobs.time.now))
    assert (jobs.listed("retrying"), jobs.listed("dead")) == ([], [])


def test_a_cancelled_job_is_in_no_list(jobs: Jobs) -> None:
    jobs.fail()

    jobs.write(job_rows.cancelled(ROW_KEY, "alice", jobs.time.now))

    assert jobs.listed("retrying") == []


def test_it_is_listed_since_its_state_began(jobs: Jobs) -> None:
    began = (jobs.time.now + 1) * 1000
    for _ in range(3):
        jobs.fail()

    [place] = jobs.listed("retrying")

    assert place == Place(int(began), "thing-1001-done", "points")


def test_pages_follow_one_another_newest_first(jobs: Jobs) -> None:
    for number in range(5):
        jobs.fail(number, dead=True)
    index, seen, after = DynamoJobIndex(jobs.store), [], None

    while True:
        page = index.page("dead#alice", 2, after)
        seen += [place.event_id for place in page.places]
        after = page.last
        if after is None:
            break

    assert seen == [f"thing-{number}-done" for number in (4, 3, 2, 1, 0)]
