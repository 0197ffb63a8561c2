"""`postroom jobs`, `outbox` and `doctor`: what is late or dead, and all that is known of it."""

import pytest

from handlers.postroom.storage import Update
from handlers.shop.orders import order_key
from tests.path.mortal_shop import EVENT, Post, refuse
from tests.path.shop import Shop
from tests.unit.ops.conftest import Operator


@pytest.fixture
def trouble(shop: Shop, post: Post) -> Shop:
    """One dead receipt, and one that is being retried."""
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    shop.order(1001)
    shop.run_until_idle()
    post.troubles.clear()
    shop.mailer.switch.fail()
    shop.order(1002)
    shop.settle()
    return shop


def test_ls_lists_dead_jobs_and_those_being_retried(trouble: Shop, operator: Operator) -> None:
    dead = operator.asks("jobs", "ls")
    retrying = operator.asks("jobs", "ls", "--state", "retrying")

    assert [job["id"] for job in dead] == [f"{EVENT}:receipts"]
    assert [job["id"] for job in retrying] == ["order-1002-paid:receipts"]
    assert operator.asks("jobs", "ls", "--subscriber", "loyalty") == []
    assert "the address is not one" in operator.type("jobs", "ls").stdout


def test_a_state_without_an_index_is_refused(operator: Operator) -> None:
    answer = operator.type("jobs", "ls", "--state", "completed")

    assert answer.exit_code == 1
    assert "dead, retrying" in answer.stderr


def test_show_tells_every_job_of_an_event_with_its_ledger(trouble: Shop, operator: Operator) -> None:
    jobs = {job["id"]: job for job in operator.asks("jobs", "show", EVENT)}

    assert {job["state"] for job in jobs.values()} == {"completed", "dead"}
    assert len(jobs) == 5
    (failure,) = jobs[f"{EVENT}:receipts"]["row"]["failures"]
    assert (failure["error"], failure["message"]) == ("Permanent", "the address is not one")
    assert "mortal_shop.py" in operator.type("jobs", "show", f"{EVENT}:receipts").stdout


def test_an_unknown_id_is_a_sentence(operator: Operator) -> None:
    answer = operator.type("jobs", "show", "order-9-paid")

    assert answer.exit_code == 1
    assert "no event or job 'order-9-paid'" in answer.stderr


def test_watch_ends_when_every_job_has(trouble: Shop, operator: Operator) -> None:
    trouble.mailer.switch.mend()

    jobs = operator.asks("jobs", "watch", "order-1002-paid")

    assert {job["state"] for job in jobs} == {"completed"}


def test_cancel_does_what_the_owners_delete_does(shop: Shop, operator: Operator) -> None:
    with shop.without("LoyaltyFunction"):
        shop.order(1001)
        shop.settle()
        answer = operator.type("jobs", "cancel", f"{EVENT}:loyalty", answer="y\n")
        assert answer.exit_code == 0

    shop.run_until_idle()

    assert shop.states(EVENT)["loyalty"] == "cancelled"
    assert shop.points() == 0
    assert [entry["act"] for entry in operator.audit()] == ["jobs cancel"]


def test_what_has_ended_cannot_be_cancelled(shop: Shop, operator: Operator) -> None:
    shop.order(1001)
    shop.settle()

    answer = operator.type("jobs", "cancel", EVENT, "--yes")

    assert answer.exit_code == 1
    assert "nothing to cancel" in answer.stderr


def test_outbox_tells_what_has_not_gone_out_and_what_never_will(shop: Shop, operator: Operator) -> None:
    assert "everything is published" in operator.type("outbox", "ls").stdout

    with shop.without("RelayFunction"):
        shop.order(1001)
        shop.order(1002)
        key = order_key("1002")
        shop.store.write(Update(key, set={"unpublished": "refused", "refusal": "too large"}))

        rows = operator.asks("outbox", "ls")

    assert {row["item"]: row.get("refused") for row in rows} == {
        "order-1001/entity": None,
        "order-1002/entity": "too large",
    }


def test_one_event_goes_to_one_subscriber_again(trouble: Shop, operator: Operator) -> None:
    trouble.run_for(1)
    trouble.mailer.switch.mend()
    runs = len(trouble.runs("LoyaltyFunction"))

    sent = operator.asks("outbox", "republish", EVENT, "--to", "receipts", "--reopen", "--yes")
    trouble.settle()

    assert sent["reopen"] is True
    assert trouble.states(EVENT)["receipts"] == "completed"
    assert len(trouble.runs("LoyaltyFunction")) == runs
    assert [entry["act"] for entry in operator.audit()] == ["outbox republish"]


def test_republishing_reopens_nothing_unless_told(trouble: Shop, operator: Operator) -> None:
    trouble.run_for(1)

    operator.asks("outbox", "republish", EVENT, "--to", "receipts", "--yes")
    trouble.settle()

    assert trouble.states(EVENT)["receipts"] == "dead"


def test_an_event_older_than_its_markers_is_not_republished(shop: Shop, operator: Operator) -> None:
    shop.order(1001)
    shop.settle()
    shop.clock.advance(45 * 86_400)

    answer = operator.type("outbox", "republish", EVENT, "--to", "loyalty", "--yes")

    assert answer.exit_code == 1
    assert "is older than" in answer.stderr
    assert operator.audit() == []


def test_doctor_is_content_with_a_stack_at_rest(shop: Shop, operator: Operator) -> None:
    shop.order(1001)
    shop.settle()

    assert all(finding["is_well"] for finding in operator.asks("doctor"))


def test_doctor_says_what_needs_a_person_and_how_to_go_on(trouble: Shop, operator: Operator) -> None:
    answer = operator.type("doctor")

    assert answer.exit_code == 1
    assert "✗ receipts: 1 dead letter" in answer.stdout
    assert "postroom dlq show receipts" in answer.stdout
