"""What the shipped template protects unasked: in transit, at rest, from deletion, between stages."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from infra.checks.grants import differences
from infra.checks.mutants.changes import put, weakened
from infra.checks.template import Template, as_list, target, text
from infra.expand import expand, parameter_values, parse
from tests.template.conftest import ROOT

POLICIES = {
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues"),
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics"),
    "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket"),
}
STAGES = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
PHYSICAL_NAMES = ("QueueName", "TopicName", "TableName", "BucketName", "FunctionName", "RoleName", "Name")
NAMED = {
    "AWS::CloudWatch::Dashboard": ("DashboardName",),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    **dict.fromkeys(
        (
            *POLICIES,
            "AWS::DynamoDB::Table",
            "AWS::Lambda::Function",
            "AWS::IAM::Role",
            "AWS::Scheduler::Schedule",
        ),
        PHYSICAL_NAMES,
    ),
}


def own_template() -> dict[str, Any]:
    return parse((ROOT / "template.yaml").read_text(encoding="utf-8"))


def refused_without_tls(template: Template, kind: str) -> Iterator[str]:
    """The resources that a policy closes to whoever comes without TLS."""
    policy_kind, attached_to = POLICIES[kind]
    for _, policy in template.of_type(policy_kind):
        for statement in policy["PolicyDocument"]["Statement"]:
            if _refuses_plain_text(statement):
                protected = {target(resource) for resource in as_list(statement["Resource"])}
                yield from (
                    str(target(one)) for one in as_list(policy[attached_to]) if target(one) in protected
                )


def _refuses_plain_text(statement: Mapping[str, Any]) -> bool:
    plain = statement.get("Condition") == {"Bool": {"aws:SecureTransport": False}}
    return plain and (statement["Effect"], statement["Principal"]) == ("Deny", "*")


@pytest.mark.parametrize("kind", POLICIES)
def test_nothing_is_reached_without_tls(shipped: Template, kind: str) -> None:
    assert set(refused_without_tls(shipped, kind)) == {name for name, _ in shipped.of_type(kind)}


def test_every_topic_is_encrypted_with_a_key_that_alarms_can_use(shipped: Template) -> None:
    keys = {target(topic["KmsMasterKeyId"]) for _, topic in shipped.of_type("AWS::SNS::Topic")}
    (key,) = keys
    statements = shipped.properties(str(key))["KeyPolicy"]["Statement"]

    alarms = next(one for one in statements if one["Principal"] == {"Service": "cloudwatch.amazonaws.com"})

    assert set(alarms["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert alarms["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_every_queue_is_encrypted_with_what_the_topic_can_write_through(shipped: Template) -> None:
    assert {
        name for name, queue in shipped.queues() if queue.get("SqsManagedSseEnabled") is not True
    } == set()


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


def test_tables_can_be_restored_and_are_not_deleted_by_mistake(shipped: Template) -> None:
    tables = dict(shipped.of_type("AWS::DynamoDB::Table"))

    assert {
        table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] for table in tables.values()
    } == {True}
    assert {str(table["DeletionProtectionEnabled"]) for table in tables.values()} == {
        str({"Fn::If": ["Production", True, False]})
    }


def test_what_holds_data_outlives_the_stack(shipped: Template) -> None:
    kinds = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::Cognito::UserPool")
    holding = [one for one in shipped.resources.values() if one["Type"] in kinds]

    assert {(one["DeletionPolicy"], one["UpdateReplacePolicy"]) for one in holding} == {("Retain", "Retain")}
    assert {one["Type"] for one in holding} >= {"AWS::DynamoDB::Table", "AWS::Cognito::UserPool"}


def test_a_bucket_keeps_what_is_written_over_and_shows_nothing(shipped: Template) -> None:
    for _, bucket in shipped.of_type("AWS::S3::Bucket"):
        assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}


def test_every_function_has_a_log_group_of_its_own_that_forgets(shipped: Template) -> None:
    groups = dict(shipped.of_type("AWS::Logs::LogGroup"))
    used = [str(target(function["LoggingConfig"]["LogGroup"])) for _, function in shipped.functions()]

    assert len(set(used)) == len(used)
    assert set(groups) - set(used) == {"ApiLogs"}
    assert {target(group["RetentionInDays"]) for group in groups.values()} == {"LogRetentionDays"}


def test_every_function_is_traced_measured_and_can_be_held_to_signed_code(shipped: Template) -> None:
    for _, function in shipped.functions():
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["Environment"]["Variables"]["METRICS_NAMESPACE"] == {"Ref": "AWS::StackName"}
        assert function["CodeSigningConfigArn"]["Fn::If"][:2] == [
            "CodeIsSigned",
            {"Ref": "CodeSigningConfigArn"},
        ]


def test_no_name_is_the_same_in_two_stages(shipped: Template) -> None:
    names = [
        (logical_id, text(properties[name]))
        for kind, allowed in NAMED.items()
        for logical_id, properties in shipped.of_type(kind)
        for name in allowed
        if name in properties
    ]

    assert [logical_id for logical_id, name in names if "${AWS::StackName}" not in name] == []
    assert names


def test_the_api_is_throttled_and_logged(shipped: Template) -> None:
    stage = dict(shipped.of_type("AWS::ApiGatewayV2::Stage")).popitem()[1]

    assert stage["DefaultRouteSettings"].keys() == {"ThrottlingBurstLimit", "ThrottlingRateLimit"}
    assert target(stage["AccessLogSettings"]["DestinationArn"]) == "ApiLogs"


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
