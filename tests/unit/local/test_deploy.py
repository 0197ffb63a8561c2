from __future__ import annotations

from typing import Any

import pytest

from infra.local.aws import LocalAws, ManualClock
from infra.local.deploy import CircularReferenceError, Deployment, UnknownResourceError
from infra.local.intrinsics import UnresolvedError
from infra.local.resources import Account


def deployment(resources: dict[str, Any], **more: Any) -> Deployment:
    aws = LocalAws(ManualClock())
    deployed = Deployment(
        {"Resources": resources, **more}, {}, Account(aws.session(), "123456789012", "eu-west-1")
    )
    deployed.make_all()
    return deployed


QUEUE = {"Type": "AWS::SQS::Queue"}


def test_resources_are_made_after_those_they_refer_to_whatever_their_order() -> None:
    source = {
        "Type": "AWS::SQS::Queue",
        "Properties": {
            "VisibilityTimeout": 90,
            "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3},
        },
    }

    deployed = deployment({"Source": source, "Dead": QUEUE})

    client = deployed.account.client("sqs")
    attributes = client.get_queue_attributes(QueueUrl=deployed.ref("Source"), AttributeNames=["All"])[
        "Attributes"
    ]
    assert attributes["VisibilityTimeout"] == "90"
    assert deployed.attribute("Dead", "Arn") in attributes["RedrivePolicy"]


def test_circle_is_refused_with_its_members() -> None:
    def queue(other: str) -> dict[str, Any]:
        target = {"deadLetterTargetArn": {"Fn::GetAtt": [other, "Arn"]}, "maxReceiveCount": 1}
        return {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": target}}

    with pytest.raises(CircularReferenceError, match="A → B → A"):
        deployment({"A": queue("B"), "B": queue("A")})


def test_unknown_type_is_refused_with_the_name_of_the_resource() -> None:
    with pytest.raises(UnknownResourceError, match=r"Search.*AWS::OpenSearchService::Domain"):
        deployment({"Search": {"Type": "AWS::OpenSearchService::Domain"}})


def test_reference_to_nothing_is_refused_with_the_name_of_the_resource() -> None:
    policy = {
        "Type": "AWS::SQS::QueuePolicy",
        "Properties": {"Queues": [{"Ref": "Missing"}], "PolicyDocument": {}},
    }

    with pytest.raises(UnresolvedError, match="Policy: the template has no Missing"):
        deployment({"Policy": policy})


def test_what_is_not_run_is_listed_with_what_that_leaves_open() -> None:
    deployed = deployment({"Role": {"Type": "AWS::IAM::Role"}, "Queue": QUEUE})

    assert deployed.not_run() == [("Role", "AWS::IAM::Role", "permissions of functions")]
    assert deployed.attribute("Role", "Arn").endswith(":Role")
    assert deployed.attribute("Role", "Anything") == "Role.Anything"


def test_resource_whose_condition_does_not_hold_is_not_made() -> None:
    off = {"Type": "AWS::OpenSearchService::Domain", "Condition": "Never"}

    deployed = deployment({"Queue": QUEUE, "Off": off}, Conditions={"Never": {"Fn::Equals": ["a", "b"]}})

    assert deployed.not_run() == []


def test_outputs_are_resolved() -> None:
    outputs = {"Url": {"Value": {"Ref": "Queue"}}, "None": {"Value": "x", "Condition": "Never"}}

    deployed = deployment({"Queue": QUEUE}, Outputs=outputs, Conditions={"Never": {"Fn::Equals": ["a", "b"]}})

    assert deployed.outputs() == {"Url": "https://sqs.eu-west-1.amazonaws.com/123456789012/Queue"}


def test_fifo_topic_queue_and_subscription_are_made_as_such() -> None:
    resources = {
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"FifoTopic": True}},
        "Work": {
            "Type": "AWS::SQS::Queue",
            "Properties": {"FifoQueue": True, "DeduplicationScope": "messageGroup"},
        },
        "Plain": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": False}},
        "Policy": {
            "Type": "AWS::SQS::QueuePolicy",
            "Properties": {
                "Queues": [{"Ref": "Work"}],
                "PolicyDocument": {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*"}},
            },
        },
        "Subscription": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {
                "TopicArn": {"Ref": "Topic"},
                "Protocol": "sqs",
                "Endpoint": {"Fn::GetAtt": ["Work", "Arn"]},
                "RawMessageDelivery": True,
            },
        },
    }

    deployed = deployment(resources)
    deployed.account.client("sns").publish(
        TopicArn=deployed.ref("Topic"), Message="a1", MessageGroupId="a", MessageDeduplicationId="1"
    )

    answer = deployed.account.client("sqs").receive_message(
        QueueUrl=deployed.ref("Work"), MessageSystemAttributeNames=["All"]
    )
    assert deployed.ref("Topic").endswith(":Topic.fifo")
    assert deployed.ref("Work").endswith("/Work.fifo")
    assert deployed.ref("Plain").endswith("/Plain")
    assert answer["Messages"][0]["Attributes"]["MessageGroupId"] == "a"
