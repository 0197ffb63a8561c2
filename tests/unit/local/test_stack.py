from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.expand import TemplateError
from infra.local.aws import LocalAws, ManualClock
from infra.local.driving import NotIdleError, run_for, run_until_idle
from infra.local.functions import Invocation
from infra.local.stack import Options, Stack

TEMPLATE = Path(__file__).with_name("sample.yaml")


class Little:
    """The little stack on a clock in the test's hands."""

    def __init__(self, template: Path = TEMPLATE, **options: Any) -> None:
        self.clock = ManualClock()
        self.aws = LocalAws(self.clock)
        self.invocations: list[Invocation] = []
        self.stack = Stack.from_template(
            template, self.aws, Options(observers=[self.invocations.append], **options)
        )
        self.session = self.aws.session()

    def send(self, body: str, delay: int = 0) -> None:
        self.session.client("sqs").send_message(
            QueueUrl=self.stack.ref("Queue"), MessageBody=body, DelaySeconds=delay
        )

    @property
    def worked_on(self) -> list[str]:
        events = [invocation.event for invocation in self.invocations if invocation.function == "Worker"]
        return [record["body"] for event in events for record in event["Records"]]


@pytest.fixture
def little() -> Little:
    return Little()


def test_request_goes_through_api_function_and_queue_to_the_next_function(little: Little) -> None:
    answer = little.stack.call("POST", "/things", body="{}")

    little.stack.settle()

    assert answer.status == 202
    (body,) = map(json.loads, little.worked_on)
    assert body["greeting"] == "hello"
    assert body["event"]["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] == "alice"


def test_caller_is_whom_the_test_names_and_nobody_is_refused(little: Little) -> None:
    little.stack.call("POST", "/things", subject="bola")

    assert little.invocations[0].event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] == "bola"
    assert little.stack.call("POST", "/things", subject=None).status == 401


def test_change_of_the_table_reaches_the_function_on_its_stream(little: Little) -> None:
    little.session.client("dynamodb").put_item(TableName=little.stack.ref("Table"), Item={"pk": {"S": "a"}})

    little.stack.settle()

    (record,) = json.loads(little.worked_on[0])["event"]["Records"]
    assert (record["eventName"], record["eventSource"]) == ("INSERT", "aws:dynamodb")
    assert record["dynamodb"]["NewImage"] == {"pk": {"S": "a"}}


def test_schedule_calls_its_function_as_time_passes(little: Little) -> None:
    run_for(little.stack, little.clock, 150)

    assert [json.loads(body)["greeting"] for body in little.worked_on] == ["tick", "tick"]


def test_parameter_and_override_reach_the_environment_of_functions_that_declare_it() -> None:
    by_parameter = Little(parameters={"Greeting": "good morning"})
    by_override = Little(overrides={"GREETING": "good evening", "UNDECLARED": "x"})

    assert by_parameter.stack.functions["Front"].settings.environ["GREETING"] == "good morning"
    assert by_override.stack.functions["Front"].settings.environ["GREETING"] == "good evening"
    assert "UNDECLARED" not in by_override.stack.functions["Front"].settings.environ


def test_unknown_parameter_is_refused() -> None:
    with pytest.raises(TemplateError, match="Greting"):
        Little(parameters={"Greting": "x"})


def test_changes_replace_properties_of_resources() -> None:
    little = Little(changes={"Queue": {"VisibilityTimeout": 7}})

    assert little.aws.sqs.queue(little.stack.ref("Queue")).settings.visibility_seconds == 7


def test_failed_message_returns_at_its_own_instant_and_ends_in_the_dead_letter_queue(little: Little) -> None:
    start = little.clock.now()
    little.send("poison")

    seconds = run_until_idle(little.stack, little.clock)

    workers = [run for run in little.invocations if run.function == "Worker"]
    times = [run.started - start for run in workers if run.event["Records"][0]["body"] == "poison"]
    assert times == [0, 30]
    assert seconds == 60
    assert len(little.aws.sqs.queue(little.stack.ref("Dead")).messages) == 1


def test_delayed_message_comes_when_due(little: Little) -> None:
    little.send("later", delay=45)

    run_for(little.stack, little.clock, 44.999)
    assert little.worked_on == []
    run_for(little.stack, little.clock, 0.001)
    assert little.worked_on == ["later"]


def test_work_that_does_not_end_within_its_limit_is_an_error(little: Little) -> None:
    little.send("poison")

    with pytest.raises(NotIdleError, match="next at"):
        run_until_idle(little.stack, little.clock, limit=29)


def test_two_stacks_with_one_seed_make_the_same_ids() -> None:
    first, second = (Little(seed=7).stack.call("POST", "/things").text for _ in range(2))

    assert first == second


def test_code_taken_up_anew_keeps_the_stack_working(little: Little) -> None:
    little.stack.call("POST", "/things")
    little.stack.refresh()

    assert little.stack.call("POST", "/things").status == 202


def test_nothing_is_claimed_after_close(little: Little) -> None:
    little.send("a")
    little.stack.close()

    assert little.stack.settle() == 0
    assert little.worked_on == []


def test_outputs_are_resolved(little: Little) -> None:
    assert little.stack.outputs == {"QueueUrl": little.stack.ref("Queue")}


def test_functions_that_are_called_at_an_alias_are_called(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    globals_ = "Globals: {Function: {AutoPublishAlias: live}}\n\nResources:\n"
    template.write_text(
        TEMPLATE.read_text(encoding="utf-8").replace("Resources:\n", globals_, 1), encoding="utf-8"
    )
    little = Little(template)

    answer = little.stack.call("POST", "/things", body="{}")
    little.session.client("dynamodb").put_item(TableName=little.stack.ref("Table"), Item={"pk": {"S": "a"}})
    run_for(little.stack, little.clock, 90)

    assert answer.status == 202
    assert {json.loads(body)["greeting"] for body in little.worked_on} == {"hello", "relayed", "tick"}
