"""The bulk lane: one request, a mail to each of very many, and nobody else waits behind it."""

import json
from collections import Counter

import pytest

from handlers.postroom.storage import Delete
from tests.path.campaigns import (
    address,
    ask,
    each_once,
    got,
    join,
    start,
    status,
    steps_of,
    steps_run,
)
from tests.path.conftest import OpenShop
from tests.path.facts import operations
from tests.path.shop import Shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(steps_of(10))


def test_each_recipient_gets_one_mail_and_the_steps_chain(shop: Shop) -> None:
    join(shop, 25)

    path = start(shop)
    shop.run_until_idle()

    assert got(shop) == each_once(25)
    assert len(shop.mailer.sent) == 25
    assert steps_run(shop) == 3
    told = status(shop, path)
    assert told["state"] == "completed"
    assert told["progress"] == {"enqueued": 25, "of": 25}


def test_a_mail_names_its_recipient(shop: Shop) -> None:
    join(shop, 1)

    start(shop)
    shop.run_until_idle()

    (mail,) = shop.mailer.every_mail
    assert (mail.subject, mail.text) == ("Spring is here, Reader 1", "Dear Reader 1,\ncome and see.\n")


def test_the_same_request_again_is_the_same_campaign(shop: Shop) -> None:
    join(shop, 3)

    first, second = ask(shop), ask(shop)
    shop.run_until_idle()

    assert (first.status, first.body) == (second.status, second.body) == (202, first.body)
    assert got(shop) == each_once(3)
    assert len(shop.mailer.sent) == 3


def test_progress_is_shown_while_the_steps_go_on(shop: Shop) -> None:
    join(shop, 25)

    path = start(shop)
    assert status(shop, path)["progress"] == {"enqueued": 0, "of": 25}
    shop.poll("RelayFunction")
    shop.poll("CampaignsFunction")
    told = status(shop, path)

    assert told["state"] == "running"
    assert told["progress"] == {"enqueued": 10, "of": 25}
    assert [(job["id"].partition(":")[0].rpartition("-")[2], job["state"]) for job in told["jobs"]] == [
        ("started", "completed"),
        ("step.2", "queued"),
    ]


def test_a_full_last_step_needs_no_empty_one_after_it(shop: Shop) -> None:
    join(shop, 20)

    start(shop)
    shop.run_until_idle()

    assert steps_run(shop) == 2


def test_numbers_that_have_left_are_passed_over(shop: Shop) -> None:
    audience = join(shop, 25)
    for number in (1, 10, 11, 25):
        shop.store.write(Delete(audience.recipient_key(number)))

    path = start(shop)
    shop.run_until_idle()

    assert sorted(got(shop)) == sorted(address(n) for n in range(1, 26) if n not in (1, 10, 11, 25))
    assert status(shop, path)["state"] == "completed"


def test_who_leaves_after_the_step_gets_none_and_her_job_ends_cancelled(shop: Shop) -> None:
    audience = join(shop, 3)
    with shop.without("CampaignMailsFunction"):
        start(shop)
        shop.settle()
    shop.store.write(Delete(audience.recipient_key(2)))
    shop.run_until_idle()

    assert sorted(got(shop)) == [address(1), address(3)]
    assert Counter(shop.outcomes("campaign-mails")) == {"completed": 2, "cancelled": 1}


def test_who_joins_after_the_start_is_not_in_it(shop: Shop) -> None:
    join(shop, 12)
    with shop.without("CampaignsFunction"):
        start(shop)
        shop.settle()
    join(shop, 15)
    shop.run_until_idle()

    assert got(shop) == each_once(12)


def test_cancelling_stops_the_steps_and_the_mails_that_wait(shop: Shop) -> None:
    join(shop, 35)
    path = start(shop)
    with shop.without("CampaignMailsFunction"):
        shop.poll("RelayFunction")
        shop.poll("CampaignsFunction")
    shop.poll("CampaignMailsFunction")
    sent = len(shop.mailer.sent)

    answer = shop.stack.call("DELETE", path, subject="ada")
    shop.run_until_idle()

    assert answer.status == 202
    assert 0 < sent == len(shop.mailer.sent) <= 10
    told = status(shop, path)
    assert told["state"] == "cancelled"
    assert told["progress"] == {"enqueued": 10, "of": 35}
    assert shop.waiting("CampaignMailsQueue") == shop.waiting("CampaignMailsDeadLetterQueue") == 0


def test_cancelling_when_all_is_handed_out_stops_the_mails(shop: Shop) -> None:
    join(shop, 25)
    with shop.without("CampaignMailsFunction"):
        path = start(shop)
        shop.run_for(1)
        assert shop.stack.call("DELETE", path, subject="ada").status == 200
    shop.run_until_idle()

    assert shop.mailer.sent == []
    assert Counter(shop.outcomes("campaign-mails")) == {"cancelled": 25}
    assert status(shop, path)["state"] == "cancelled"


def test_nobody_else_sees_or_stops_a_campaign(shop: Shop) -> None:
    join(shop, 5)

    path = start(shop)
    assert shop.get(path, "bola").status == 404
    assert shop.stack.call("DELETE", path, subject="bola").status == 404
    shop.run_until_idle()

    assert got(shop) == each_once(5)


def test_another_ones_audience_is_none(shop: Shop) -> None:
    join(shop, 5)

    answer = ask(shop, caller="bola")

    assert answer.status == 422
    assert json.loads(answer.body)["errors"][0]["field"] == "audience"


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_crash_after_a_step_had_handed_out_everything_repeats_no_mail(shop: Shop, step: int) -> None:
    shop.expects("Runtime.ExitError")
    join(shop, 25)
    path = start(shop)
    with shop.without("CampaignMailsFunction"):
        for _ in range(step - 1):
            shop.poll("RelayFunction")
            shop.poll("CampaignsFunction")
        shop.mortal("Campaigns").deaths = 1
        shop.run_for(2_000)
    shop.run_until_idle()

    assert got(shop) == each_once(25)
    assert len(shop.mailer.sent) == 25
    assert status(shop, path)["progress"] == {"enqueued": 25, "of": 25}


def test_what_the_queue_refuses_in_passing_is_sent_again_alone(shop: Shop) -> None:
    join(shop, 20)
    shop.aws.switches.partial("sqs", "SendMessageBatch")

    with shop.aws.metered() as calls:
        start(shop)
        shop.run_until_idle()

    assert operations(calls)["SendMessageBatch"] == 3
    assert len(shop.mailer.asked) == 20
    assert got(shop) == each_once(20)


def test_a_tenants_blast_is_not_in_front_of_anothers(open_shop: OpenShop) -> None:
    shop = open_shop(steps_of(100))
    join(shop, 60)
    join(shop, 5, owner="bola")
    with shop.without("CampaignMailsFunction"):
        start(shop)
        shop.settle()
        start(shop, caller="bola")
        shop.settle()
    for _ in range(2):
        shop.poll("CampaignMailsFunction")

    assert sum(to.startswith("bola") for to in got(shop)) == 5


def test_an_order_placed_behind_the_blast_gets_its_receipt_at_once(shop: Shop) -> None:
    join(shop, 25)
    with shop.without("CampaignMailsFunction"):
        start(shop)
        shop.settle()
        order = shop.order(1001)
        shop.settle()

        assert shop.states(order.id)["receipts"] == "completed"


def test_a_campaign_older_than_its_deadline_is_not_sent(shop: Shop) -> None:
    join(shop, 2)
    with shop.without("CampaignMailsFunction"):
        start(shop)
        shop.settle()
    shop.clock.advance(3 * 24 * 3600 + 1)
    shop.run_until_idle()

    assert shop.mailer.sent == []
    assert Counter(shop.outcomes("campaign-mails")) == {"expired": 2}
