"""`postroom dlq`: nothing lost, nothing done unasked, and every refusal a sentence."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.path.mortal_shop import EVENT, Post, dead_letters_arn, die, refuse
from tests.path.shop import Shop
from tests.unit.ops.conftest import Operator


def kill(shop: Shop, post: Post, *numbers: int) -> None:
    """Orders whose receipts are dead after one run; the provider works again afterwards."""
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    for number in numbers:
        shop.order(number)
        shop.run_until_idle()
    shop.run_for(1)
    post.troubles.clear()


def operations(shop: Shop) -> list[str]:
    return [call.operation for call in shop.aws.calls]


def start_move_task(shop: Shop) -> str:
    sqs = shop.aws.session().client("sqs")
    arn = dead_letters_arn(shop, "receipts")
    return sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]


def test_ls_counts_the_dead_letters_of_each_subscriber(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002)

    listed = operator.asks("dlq", "ls")

    counts = {row["subscriber"]: row["deadLetters"] for row in listed["deadLetters"]}
    assert counts.pop("receipts") == 2
    assert set(counts.values()) == {0}
    assert {"invoices", "loyalty", "statement", "warehouse"} <= counts.keys()
    assert all(other["messages"] == 0 for other in listed["others"])


def test_show_groups_by_cause_and_tells_the_whole_ledger(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002)
    shop.mailer.switch.fail()
    shop.order(1003)
    shop.run_until_idle()

    groups = operator.asks("dlq", "show", "receipts")

    assert [(group["error"], group["messages"]) for group in groups] == [("Permanent", 2), ("Transient", 1)]
    (retried,) = groups[1]["jobs"]
    assert [entry["attempt"] for entry in retried["row"]["failures"]] == [1, 2, 3]
    assert retried["message"] == "the mail server is down"


def test_show_leaves_every_letter_where_it_is(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, *range(1001, 1013))

    result = operator.type("dlq", "show", "receipts")

    assert "12 × Permanent" in result.stdout
    assert "and 7 more" in result.stdout
    assert len(shop.dead_letters("receipts")) == 10
    assert shop.waiting("ReceiptsDeadLetterQueue") == 12


def test_letters_that_somebody_else_holds_are_told_of(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002)
    shop.aws.session().client("sqs").receive_message(QueueUrl=shop.stack.ref("ReceiptsDeadLetterQueue"))

    answer = operator.type("dlq", "show", "receipts")

    assert "1 letter of receipts left out" in answer.stdout
    assert "1 × Permanent" in answer.stdout


def test_a_whole_queue_is_moved_by_sqs_itself(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002)

    answer = operator.type("dlq", "redrive", "receipts", "--yes")
    shop.run_until_idle()

    assert answer.exit_code == 0
    assert "SQS moved 2 of 2" in answer.stdout
    assert shop.states(EVENT)["receipts"] == shop.states("order-1002-paid")["receipts"] == "completed"
    assert operations(shop).count("StartMessageMoveTask") == 1
    assert "SendMessage" not in operations(shop)


def test_redriven_twice_equals_once(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001)
    operator.type("dlq", "redrive", "receipts", "--yes")
    shop.run_until_idle()

    again = operator.type("dlq", "redrive", "receipts", "--yes")
    shop.run_until_idle()

    assert (again.exit_code, len(shop.mailer.sent)) == (0, 1)
    assert "no such dead letters" in again.stdout


@pytest.mark.parametrize("which", [pytest.param("SQS", id="DLQ-5-rate-of-a-move-task")])
def test_the_rate_is_passed_on(shop: Shop, post: Post, operator: Operator, which: str) -> None:
    kill(shop, post, *range(1001, 1011))
    before = shop.t

    answer = operator.asks("dlq", "redrive", "receipts", "--yes", "--rate", "2")

    assert answer["moved"] == 10
    assert shop.t - before >= 10 / 2
    task = (
        shop.aws.session()
        .client("sqs")
        .list_message_move_tasks(SourceArn=dead_letters_arn(shop, "receipts"))["Results"][0]
    )
    assert task["MaxNumberOfMessagesPerSecond"] == 2


@pytest.mark.parametrize("rate", [pytest.param(rate, id=f"DLQ-5-rate-{rate}") for rate in ("0", "501")])
def test_a_rate_that_aws_does_not_take_is_a_usage_error(operator: Operator, rate: str) -> None:
    assert operator.type("dlq", "redrive", "receipts", "--yes", "--rate", rate).exit_code == 2


@pytest.mark.parametrize(
    ("words", "cancelled"),
    [
        pytest.param(["redrive", "receipts", "--yes"], False, id="DLQ-4-redrive-while-running"),
        pytest.param(["redrive", "receipts", "--yes"], True, id="DLQ-4-redrive-while-cancelling"),
        pytest.param(
            ["redrive", "receipts", "--job", EVENT, "--yes"], False, id="DLQ-4-chosen-while-running"
        ),
        pytest.param(["skip", "receipts", "--all", "--yes"], True, id="DLQ-4-skip-while-cancelling"),
        pytest.param(["show", "receipts"], False, id="DLQ-4-show-while-running"),
    ],
)
def test_a_move_task_at_work_is_a_friendly_refusal(
    shop: Shop, post: Post, operator: Operator, words: list[str], cancelled: bool
) -> None:
    kill(shop, post, 1001, 1002, 1003)
    handle = start_move_task(shop)
    if cancelled:
        shop.aws.session().client("sqs").cancel_message_move_task(TaskHandle=handle)

    answer = operator.type("dlq", *words)

    assert answer.exit_code == 1
    assert f"is {'CANCELLING' if cancelled else 'RUNNING'}: 0 of 3 messages are moved" in answer.stderr
    assert "Traceback" not in answer.output
    assert isinstance(answer.exception, SystemExit)


def test_a_redrive_can_be_stopped(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002, 1003)
    start_move_task(shop)

    assert operator.type("dlq", "stop", "receipts").exit_code == 0
    shop.run_for(5)

    assert shop.waiting("ReceiptsDeadLetterQueue") == 3
    assert operator.type("dlq", "stop", "receipts").exit_code == 1


def test_chosen_letters_alone_are_redriven(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002)

    answer = operator.asks("dlq", "redrive", "receipts", "--job", EVENT, "--yes")
    shop.run_until_idle()

    assert answer["redriven"] == [f"{EVENT}:receipts"]
    assert shop.states(EVENT)["receipts"] == "completed"
    assert shop.states("order-1002-paid")["receipts"] == "dead"
    assert shop.waiting("ReceiptsDeadLetterQueue") == 1


def test_letters_are_chosen_by_their_error(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001)
    shop.mailer.switch.fail()
    shop.order(1002)
    shop.run_until_idle()
    shop.mailer.switch.mend()

    answer = operator.asks("dlq", "redrive", "receipts", "--error", "server is down", "--yes")

    assert answer["redriven"] == ["order-1002-paid:receipts"]


@pytest.mark.parametrize("name", [pytest.param("all", id="DLQ-3-attributes-and-trace")])
def test_a_redriven_letter_says_all_that_it_said(shop: Shop, operator: Operator, name: str) -> None:
    shop.expects("record.unreadable")
    sqs: Any = shop.aws.session().client("sqs")
    texts = {"publication": "p1", "type": "order.paid", "tenant": "café"}
    attributes = {key: {"DataType": "String", "StringValue": value} for key, value in texts.items()}
    attributes["blob"] = {"DataType": "Binary.x", "BinaryValue": b"\x00\xff"}  # type: ignore[dict-item]
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a9"}}
    sqs.send_message(
        QueueUrl=shop.stack.ref("ReceiptsQueue"),
        MessageBody="no event",
        MessageAttributes=attributes,
        MessageSystemAttributes=trace,
    )
    shop.run_until_idle()
    (before,) = shop.dead_letters("receipts")

    with shop.without("ReceiptsFunction"):
        operator.asks("dlq", "redrive", "receipts", "--error", "unreadable", "--yes")
        (after,) = sqs.receive_message(
            QueueUrl=shop.stack.ref("ReceiptsQueue"),
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        )["Messages"]

    assert after["MessageAttributes"] == before["MessageAttributes"] == attributes
    assert after["Attributes"]["AWSTraceHeader"] == trace["AWSTraceHeader"]["StringValue"]
    assert after["Body"] == before["Body"]
    assert after["MessageId"] != before["MessageId"]


@pytest.mark.parametrize("call", [pytest.param("SendMessage", id="DLQ-3-send-not-confirmed")])
def test_what_could_not_be_sent_is_still_a_dead_letter(
    shop: Shop, post: Post, operator: Operator, call: str
) -> None:
    kill(shop, post, 1001)
    operator.target.session.events.register(f"before-call.sqs.{call}", _refuse_call)

    answer = operator.type("dlq", "redrive", "receipts", "--job", EVENT, "--yes")

    assert answer.exit_code == 1
    assert "still a dead letter" in answer.stdout
    assert len(shop.dead_letters("receipts")) == 1


def test_a_letter_that_could_not_be_deleted_does_its_work_once(
    shop: Shop, post: Post, operator: Operator
) -> None:
    kill(shop, post, 1001)
    operator.target.session.events.register("before-call.sqs.DeleteMessage", _refuse_call)

    assert operator.type("dlq", "redrive", "receipts", "--job", EVENT, "--yes").exit_code == 0
    shop.run_until_idle()
    assert len(shop.dead_letters("receipts")) == 1
    operator.type("dlq", "redrive", "receipts", "--yes")
    shop.run_until_idle()

    assert len(shop.mailer.sent) == 1
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


@pytest.mark.parametrize("name", [pytest.param("good", id="DLQ-5-sample-first")])
def test_a_canary_that_completes_lets_the_rest_follow(
    shop: Shop, post: Post, operator: Operator, name: str
) -> None:
    kill(shop, post, 1001, 1002, 1003)

    answer = operator.asks("dlq", "redrive", "receipts", "--canary", "1", "--yes")
    shop.run_until_idle()

    assert answer["canary"] == {f"{EVENT}:receipts": "completed"}
    assert answer["moved"] == 2
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0
    assert len(shop.mailer.sent) == 3


@pytest.mark.parametrize("name", [pytest.param("bad", id="DLQ-5-sample-still-broken")])
def test_a_canary_that_dies_keeps_the_rest_where_it_is(
    shop: Shop, post: Post, operator: Operator, name: str
) -> None:
    kill(shop, post, 1001, 1002, 1003)
    post.troubles.append(refuse)

    answer = operator.type("dlq", "redrive", "receipts", "--canary", "1", "--yes")

    assert answer.exit_code == 1
    assert f"canary: {EVENT}:receipts is dead" in answer.stdout
    assert "StartMessageMoveTask" not in operations(shop)
    shop.run_until_idle()
    assert shop.waiting("ReceiptsDeadLetterQueue") == 3


def test_a_canary_that_does_not_end_in_time_keeps_the_rest_where_it_is(
    shop: Shop, post: Post, operator: Operator
) -> None:
    kill(shop, post, 1001, 1002)

    with shop.without("ReceiptsFunction"):
        answer = operator.type("dlq", "redrive", "receipts", "--canary", "1", "--wait", "5", "--yes")

    assert answer.exit_code == 1
    assert "is pending" in answer.stdout
    assert shop.waiting("ReceiptsDeadLetterQueue") == 1


@pytest.mark.parametrize(
    ("words", "answer", "code"),
    [
        pytest.param(["redrive", "receipts", "--dry-run"], None, 0, id="DLQ-5-dry-run"),
        pytest.param(["redrive", "receipts"], "n\n", 1, id="DLQ-5-no"),
        pytest.param(["redrive", "receipts"], "", 1, id="DLQ-5-nobody-there"),
        pytest.param(["redrive", "receipts", "--job", EVENT, "--dry-run"], None, 0, id="chosen-dry-run"),
        pytest.param(["skip", "receipts", "--all", "--dry-run"], None, 0, id="skip-dry-run"),
        pytest.param(["skip", "receipts", "--all"], "n\n", 1, id="skip-no"),
    ],
)
def test_nothing_happens_unasked(
    shop: Shop, post: Post, operator: Operator, words: list[str], answer: str | None, code: int
) -> None:
    kill(shop, post, 1001, 1002)
    before = shop.everything()

    result = operator.type("dlq", *words, answer=answer)

    assert result.exit_code == code
    assert "of receipts" in result.stdout
    assert shop.everything() == before
    assert shop.waiting("ReceiptsDeadLetterQueue") == 2
    assert operator.audit() == []


def test_a_yes_is_enough(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001)

    answer = operator.type("dlq", "redrive", "receipts", answer="y\n")

    assert answer.exit_code == 0
    assert "Redrive all 1 dead letter of receipts?" in answer.stdout


def test_a_letter_sent_there_directly_is_explained_and_can_be_brought_home(
    shop: Shop, post: Post, operator: Operator
) -> None:
    event = shop.event(1001)
    shop.order(1001)
    with shop.without("ReceiptsFunction"):
        shop.settle()
    shop.aws.session().client("sqs").send_message(
        QueueUrl=shop.stack.ref("ReceiptsDeadLetterQueue"), MessageBody=event.to_json()
    )

    answer = operator.type("dlq", "redrive", "receipts", "--yes")

    assert answer.exit_code == 1
    assert "CouldNotDetermineMessageSource" in answer.stderr
    assert "--to receipts" in answer.stderr
    assert operator.type("dlq", "redrive", "receipts", "--to", "receipts", "--yes").exit_code == 0
    shop.run_until_idle()
    assert len(shop.mailer.sent) == 1


def test_a_skipped_job_stays_dead_with_a_note_and_its_letter_is_gone(
    shop: Shop, post: Post, operator: Operator
) -> None:
    kill(shop, post, 1001, 1002)

    answer = operator.asks("dlq", "skip", "receipts", "--job", EVENT, "--note", "told by phone", "--yes")

    assert answer["skipped"] == [f"{EVENT}:receipts"]
    row = shop.jobs(EVENT)["receipts"]
    assert (row["state"], row["note"]["by"], row["note"]["text"]) == ("dead", "olu", "told by phone")
    assert [json.loads(left["Body"])["id"] for left in shop.dead_letters("receipts")] == ["order-1002-paid"]
    assert "told by phone" in operator.type("jobs", "show", EVENT).stdout


def test_a_job_that_never_reported_is_closed_when_it_is_skipped(
    shop: Shop, post: Post, operator: Operator
) -> None:
    shop.expects("Runtime.ExitError", "job.never_reported")
    shop.stack.schedules = []
    post.troubles.append(die)
    shop.order(1001)
    shop.run_until_idle()

    operator.asks("dlq", "skip", "receipts", "--all", "--yes")

    row = shop.jobs(EVENT)["receipts"]
    assert (row["state"], row["failures"][-1]["error"]) == ("dead", "NeverReported")
    assert "note" in row
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_a_job_that_succeeded_in_truth_is_left_completed_when_its_letter_is_skipped(
    shop: Shop, operator: Operator
) -> None:
    shop.expects("Runtime.ExitError")
    shop.mortal("loyalty").deaths = 6
    shop.order(1001)
    shop.run_until_idle()

    operator.asks("dlq", "skip", "loyalty", "--all", "--yes")

    assert shop.states(EVENT)["loyalty"] == "completed"
    assert shop.waiting("LoyaltyDeadLetterQueue") == 0


def test_skip_wants_to_be_told_which(operator: Operator) -> None:
    assert operator.type("dlq", "skip", "receipts", "--yes").exit_code == 2


def test_each_act_leaves_an_audit_line(shop: Shop, post: Post, operator: Operator) -> None:
    kill(shop, post, 1001, 1002, 1003)

    chosen = operator.type("dlq", "redrive", "receipts", "--job", EVENT, "--yes")
    operator.type("dlq", "skip", "receipts", "--job", "order-1002-paid", "--note", "n", "--yes")
    operator.type("dlq", "redrive", "receipts", "--rate", "5", "--yes")

    acts = [(entry["act"], entry["by"], entry["stack"], entry["messages"]) for entry in operator.audit()]
    assert acts == [
        ("dlq redrive", "olu", "local", 1),
        ("dlq skip", "olu", "local", 1),
        ("dlq redrive", "olu", "local", 1),
    ]
    assert operator.audit()[0]["jobs"] == [f"{EVENT}:receipts"]
    assert '"act": "dlq redrive"' in chosen.stdout


def test_an_unknown_subscriber_is_a_sentence(operator: Operator) -> None:
    answer = operator.type("dlq", "show", "recipes")

    assert answer.exit_code == 1
    assert "invoices, login-codes, loyalty, " in answer.stderr


def _refuse_call(**_: Any) -> None:
    raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "call")
