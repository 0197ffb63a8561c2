"""What the shipped template protects unasked, beside what the house rules look at in any template."""

import tomllib
from typing import Any

import pytest

from handlers.postroom.aws.deployment import CALL_ATTEMPTS, CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS
from infra.checks.grants import differences
from infra.checks.mutants.changes import put, weakened
from infra.checks.template import Template, target
from infra.expand import expand, parameter_values, read_template
from tests.template.conftest import ROOT

STAGES = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))


def own_template() -> dict[str, Any]:
    return read_template(ROOT / "template.yaml")


def test_every_topic_is_encrypted_with_a_key_that_alarms_can_use(shipped: Template) -> None:
    keys = {target(topic["KmsMasterKeyId"]) for _, topic in shipped.of_type("AWS::SNS::Topic")}
    (key,) = keys
    statements = shipped.properties(str(key))["KeyPolicy"]["Statement"]

    alarms = next(one for one in statements if one["Principal"] == {"Service": "cloudwatch.amazonaws.com"})

    assert set(alarms["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert alarms["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


@pytest.mark.parametrize("function", ["LoyaltyFunction"], ids=["SEC-1"])
def test_a_queue_with_a_key_of_its_own_needs_the_right_to_decrypt(shipped: Template, function: str) -> None:
    encrypted = weakened(shipped, put("LoyaltyQueue", "KmsMasterKeyId", {"Ref": "TopicsKey"}))

    problems = differences(encrypted, {})[function]

    assert "lacks kms:Decrypt on TopicsKey" in problems


@pytest.mark.parametrize("function", ["RelayFunction", "SweepFunction"])
def test_who_publishes_to_an_encrypted_topic_needs_its_key(shipped: Template, function: str) -> None:
    published = {("sns:Publish", "EventsTopic"), ("sns:Publish", "OrderedEventsTopic")}
    plain = weakened(shipped, put("EventsTopic", "KmsMasterKeyId", None))
    plain = weakened(plain, put("OrderedEventsTopic", "KmsMasterKeyId", None))

    assert not [one for one in differences(shipped, {function: published})[function] if "kms:" in one]
    assert {one for one in differences(plain, {function: published})[function] if "kms:" in one} == {
        "has kms:Decrypt on TopicsKey for nothing",
        "has kms:GenerateDataKey on TopicsKey for nothing",
    }


def test_a_bucket_keeps_what_is_written_over_and_shows_nothing(shipped: Template) -> None:
    for _, bucket in shipped.of_type("AWS::S3::Bucket"):
        assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}


def test_every_function_is_traced_measured_and_can_be_held_to_signed_code(shipped: Template) -> None:
    for _, function in shipped.functions():
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["Environment"]["Variables"]["METRICS_NAMESPACE"] == {"Ref": "AWS::StackName"}
        assert function["CodeSigningConfigArn"]["Fn::If"][:2] == [
            "CodeIsSigned",
            {"Ref": "CodeSigningConfigArn"},
        ]


def test_the_api_is_open_to_the_pages_of_one_origin() -> None:
    expanded = expand(ROOT / "template.yaml", {"WebOrigin": "https://a.example.com"})

    cors = expanded["Resources"]["Api"]["Properties"]["Body"]["x-amazon-apigateway-cors"]
    assert cors["allowOrigins"] == ["https://a.example.com"]
    assert "*" not in str(cors)


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_each_stage_gives_every_parameter_its_value(stage: str) -> None:
    given = dict(one.split("=", 1) for one in STAGES[stage]["deploy"]["parameters"]["parameter_overrides"])

    values = parameter_values(own_template(), given)

    assert values["Stage"] == stage
    assert values["AlarmsEmail"]


def test_stages_share_neither_stack_nor_address() -> None:
    dev, prod = (STAGES[stage]["deploy"]["parameters"] for stage in ("dev", "prod"))

    assert dev["stack_name"] != prod["stack_name"]
    assert not {one for one in dev["parameter_overrides"] if "@" in one or "//" in one} & set(
        prod["parameter_overrides"]
    )


def test_a_hanging_endpoint_is_an_error_before_its_function_is_killed(shipped: Template) -> None:
    """OPS-1. Left to itself the SDK waits a minute for each of several tries."""
    one_call_seconds = (CONNECT_TIMEOUT_SECONDS + READ_TIMEOUT_SECONDS) * CALL_ATTEMPTS

    shortest = min(function["Timeout"] for _, function in shipped.functions())

    assert one_call_seconds < shortest
