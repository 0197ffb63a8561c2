"""The past for a subscriber that has not seen it."""

from datetime import UTC, datetime

import pytest

from handlers.postroom.republish import OLDEST_SECONDS
from tests.path.mortal_shop import POINTS
from tests.path.shop import Shop
from tests.unit.ops.conftest import Operator

ORDERS = (1001, 1002, 1003)
DAY_SECONDS = 86_400


def lose(shop: Shop, queue: str) -> None:
    """Take every message off, as if it had never come."""
    sqs, url = shop.aws.session().client("sqs"), shop.stack.ref(queue)
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in found:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@pytest.fixture
def away(shop: Shop) -> Shop:
    """Three orders, of which the loyalty subscriber never heard, and a fourth of which it did."""
    with shop.without("LoyaltyFunction"):
        for number in ORDERS:
            shop.order(number)
            shop.run_for(60)
        lose(shop, "LoyaltyQueue")
    shop.order(1004)
    shop.run_for(60)
    return shop


def ago(shop: Shop, seconds: float) -> str:
    return f"{datetime.fromtimestamp(shop.clock.now() - seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def test_each_missing_event_is_sent_and_a_second_run_finds_none(away: Shop, operator: Operator) -> None:
    words = ("outbox", "backfill", "loyalty", "--since", ago(away, 600), "--yes")

    first = operator.asks(*words)
    away.run_until_idle()
    second = operator.asks(*words)
    away.run_until_idle()

    assert (first["sent"], second["sent"]) == (3, 0)
    assert away.points() == 4 * POINTS
    assert [entry["act"] for entry in operator.audit()] == ["outbox backfill"]


def test_the_dates_bound_it(away: Shop, operator: Operator) -> None:
    answer = operator.asks(
        *("outbox", "backfill", "loyalty", "--since", ago(away, 200), "--until", ago(away, 130), "--dry-run")
    )

    assert (answer["missing"], answer["sent"]) == (1, 0)


def test_it_asks_and_a_no_sends_nothing(away: Shop, operator: Operator) -> None:
    result = operator.type("outbox", "backfill", "loyalty", "--since", ago(away, 600), answer="n\n")

    assert "Send 3 events to loyalty" in result.output
    assert result.exit_code == 1
    assert away.waiting("LoyaltyQueue") == 0


def test_what_its_job_may_have_outlived_is_not_sent(away: Shop, operator: Operator) -> None:
    away.clock.advance(OLDEST_SECONDS + DAY_SECONDS)

    answer = operator.asks("outbox", "backfill", "loyalty", "--since", ago(away, 60 * DAY_SECONDS), "--yes")

    assert (answer["sent"], len(answer["tooOld"])) == (0, 3)


def test_a_queue_younger_than_the_event_gets_it_however_old(away: Shop, operator: Operator) -> None:
    away.clock.advance(OLDEST_SECONDS + DAY_SECONDS)
    away.aws.sqs.queue(away.stack.ref("LoyaltyQueue")).created_ms = away.aws.region.now_ms()

    answer = operator.asks("outbox", "backfill", "loyalty", "--since", ago(away, 60 * DAY_SECONDS), "--yes")
    away.run_until_idle()

    assert answer["sent"] == 3
    assert away.points() == 4 * POINTS


def test_an_effect_that_is_its_own_marker_counts_as_a_job(away: Shop, operator: Operator) -> None:
    answer = operator.asks("outbox", "backfill", "warehouse", "--since", ago(away, 600), "--yes")

    assert answer["missing"] == 0


def test_dates_the_wrong_way_round_are_refused(away: Shop, operator: Operator) -> None:
    result = operator.type("outbox", "backfill", "loyalty", "--since", "2999-01-01")

    assert result.exit_code == 1
    assert "--since 2999-01-01T00:00 is not before now" in result.output
