"""A redrive by anybody's hand, here by plain calls of SQS: the job runs again, its effect is there once."""

import pytest

from tests.path.conftest import OpenShop
from tests.path.mortal_shop import (
    ALWAYS,
    ATTEMPTS,
    EVENT,
    POINTS,
    Post,
    die,
    open_mortal_shop,
    redrive,
    refuse,
)
from tests.path.shop import Shop


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def shop(open_shop: OpenShop, post: Post) -> Shop:
    return open_mortal_shop(open_shop, post)


def test_a_job_dead_after_its_last_attempt_completes_when_redriven(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail()
    shop.order(1001)
    shop.run_until_idle()
    assert shop.states(EVENT)["receipts"] == "dead"

    shop.mailer.switch.mend()
    task = redrive(shop, "receipts")

    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert shop.states(EVENT)["receipts"] == "completed"
    assert [key for _, key in shop.mailer.sent] == [f"{EVENT}:receipts"]
    assert shop.waiting("ReceiptsDeadLetterQueue") == shop.waiting("ReceiptsQueue") == 0


def test_a_job_dead_for_good_completes_when_its_cause_is_mended(shop: Shop, post: Post) -> None:
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    shop.order(1001)
    shop.run_until_idle()
    assert shop.jobs(EVENT)["receipts"]["attempts"] == 1

    post.troubles.clear()
    redrive(shop, "receipts")

    assert shop.states(EVENT)["receipts"] == "completed"
    assert len(shop.mailer.sent) == 1


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_job_whose_worker_crashed_every_time_completes(shop: Shop, post: Post, is_watched: bool) -> None:
    shop.expects("Runtime.ExitError", *(["job.never_reported"] if is_watched else []))
    if not is_watched:
        shop.stack.schedules = [one for one in shop.stack.schedules if "Watch" not in one.name]
    post.troubles.append(die)
    shop.order(1001)
    shop.run_until_idle()
    shop.run_for(120)
    assert shop.jobs(EVENT)["receipts"]["state"] == ("dead" if is_watched else "retrying")
    assert len(shop.dead_letters("receipts")) == 1

    post.troubles.clear()
    redrive(shop, "receipts")

    assert shop.states(EVENT)["receipts"] == "completed"
    assert len(shop.mailer.sent) == 1


def test_a_job_that_had_in_truth_succeeded_is_not_done_again(shop: Shop) -> None:
    shop.expects("Runtime.ExitError")
    shop.mortal("loyalty").deaths = ALWAYS
    shop.order(1001)
    shop.run_until_idle()
    assert len(shop.dead_letters("loyalty")) == 1
    assert shop.points() == POINTS

    shop.mortal("loyalty").deaths = 0
    redrive(shop, "loyalty")

    assert shop.points() == POINTS
    assert shop.states(EVENT)["loyalty"] == "completed"
    assert shop.waiting("LoyaltyDeadLetterQueue") == shop.waiting("LoyaltyQueue") == 0


def test_a_provider_that_had_said_yes_is_asked_with_the_same_key(shop: Shop) -> None:
    shop.expects("Runtime.ExitError", "job.never_reported")
    for _ in range(6):
        shop.mailer.dies_after_sending()
    shop.order(1001)
    shop.run_until_idle()

    redrive(shop, "receipts")

    assert shop.states(EVENT)["receipts"] == "completed"
    assert list(shop.mailer.mails) == [f"{EVENT}:receipts"]


def test_a_repeat_of_the_event_reopens_nothing_and_a_redrive_does(shop: Shop, post: Post) -> None:
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    event = shop.order(1001)
    shop.run_until_idle()
    post.troubles.clear()

    shop.publish(event.to_json(), "repeat-1")
    shop.run_until_idle()
    assert shop.states(EVENT)["receipts"] == "dead"
    assert shop.mailer.sent == []

    redrive(shop, "receipts")
    assert shop.states(EVENT)["receipts"] == "completed"


def test_a_redrive_gives_all_attempts_anew(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail()
    shop.order(1001)
    shop.run_until_idle()

    redrive(shop, "receipts")

    row = shop.jobs(EVENT)["receipts"]
    assert (row["state"], row["attempts"], row["generation"]) == ("dead", ATTEMPTS, 1)
    assert len(row["failures"]) == 2 * ATTEMPTS
    assert len(shop.dead_letters("receipts")) == 1


def test_redriven_twice_equals_once(shop: Shop, post: Post) -> None:
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    shop.order(1001)
    shop.run_until_idle()
    post.troubles.clear()

    redrive(shop, "receipts")
    before = shop.everything()
    task = redrive(shop, "receipts")

    assert task["ApproximateNumberOfMessagesMoved"] == 0
    assert shop.everything() == before


def test_a_letter_copied_twice_into_its_queue_is_done_once(shop: Shop, post: Post) -> None:
    """As tools do that send first and delete later, or not at all."""
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    shop.order(1001)
    shop.run_until_idle()
    post.troubles.clear()

    (letter,) = shop.dead_letters("receipts")
    for _ in range(2):
        shop.aws.session().client("sqs").send_message(
            QueueUrl=shop.stack.ref("ReceiptsQueue"),
            MessageBody=letter["Body"],
            MessageAttributes=letter["MessageAttributes"],
        )
    shop.run_until_idle()
    redrive(shop, "receipts")

    assert len(shop.mailer.sent) == 1
    assert shop.waiting("ReceiptsDeadLetterQueue") == shop.waiting("ReceiptsQueue") == 0


def test_messages_are_conserved_when_some_are_still_broken(shop: Shop, post: Post) -> None:
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    orders = [shop.order(number, email=f"{number}@example.com") for number in range(1001, 1009)]
    shop.run_until_idle()
    assert shop.waiting("ReceiptsDeadLetterQueue") == 8

    still_broken = {f"{number}@example.com" for number in (1003, 1006)}
    post.troubles[:] = [lambda mail: refuse(mail) if mail.to in still_broken else None]
    task = redrive(shop, "receipts", MaxNumberOfMessagesPerSecond=2)

    assert task["ApproximateNumberOfMessagesMoved"] == 8
    states = [shop.states(order.id)["receipts"] for order in orders]
    assert (states.count("completed"), states.count("dead")) == (6, 2)
    assert shop.waiting("ReceiptsDeadLetterQueue") == 2
    assert len(shop.mailer.sent) == 6


def test_a_message_sent_to_the_dead_letters_directly_cannot_go_home(shop: Shop) -> None:
    """docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html"""
    url = shop.stack.ref("ReceiptsDeadLetterQueue")
    shop.aws.session().client("sqs").send_message(QueueUrl=url, MessageBody="{}")

    task = redrive(shop, "receipts")

    assert (task["Status"], task["FailureReason"]) == ("FAILED", "CouldNotDetermineMessageSource")
    assert shop.waiting("ReceiptsDeadLetterQueue") == 1
