"""parcel.sent → notices: the same message again, a worker that dies at any of its calls, one effect."""

from handlers.parcels.parcels import PARCEL_SENT
from handlers.postroom.jobs import Job
from handlers.postroom.storage import Key
from handlers.queue_notices import handler, post_notice
from infra.testkit import assert_effect_once
from tests.unit.events.bodies import published


def test_it_takes_effect_once_whenever_its_worker_dies() -> None:
    event = published(PARCEL_SENT)

    assert_effect_once(handler, event)


def test_a_heavy_parcel_needs_two_carriers() -> None:
    event = published(PARCEL_SENT)
    job = Job(f"{event.id}:notices", event, attempt=1)

    commit = post_notice.run(job)

    (notice,) = commit.writes
    assert notice.key == Key("shop", event.aggregate, "notice")
    assert commit.result == {"carriers": 2}
