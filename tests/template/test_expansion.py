"""The template is expanded as SAM would, here and offline."""

from pathlib import Path

import pytest

from infra.checks.template import Template
from infra.expand import TemplateError, parse, transform

ROOT = Path(__file__).parent.parent.parent

SHORT_FORMS = """
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Condition: Wanted
    Properties:
      QueueName: !Sub ${AWS::StackName}-work
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}
      Tags: !If [Wanted, [{Key: a, Value: !Ref Stage}], !Ref "AWS::NoValue"]
Conditions:
  Wanted: !Not [!Condition Other]
"""


def test_short_intrinsics_take_their_long_form() -> None:
    template = parse(SHORT_FORMS)

    queue = template["Resources"]["Queue"]["Properties"]
    assert queue["QueueName"] == {"Fn::Sub": "${AWS::StackName}-work"}
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["Dead", "Arn"]}
    assert queue["Tags"] == {
        "Fn::If": ["Wanted", [{"Key": "a", "Value": {"Ref": "Stage"}}], {"Ref": "AWS::NoValue"}]
    }
    assert template["Conditions"]["Wanted"] == {"Fn::Not": [{"Condition": "Other"}]}


def test_nothing_of_sam_is_left(shipped: Template) -> None:
    kinds = {resource["Type"] for resource in shipped.resources.values()}

    assert not {kind for kind in kinds if kind.startswith("AWS::Serverless::")}


def test_expansion_leaves_its_source_as_it_was() -> None:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    template = parse(text)

    transform(template)

    assert template == parse(text)


def test_what_sam_refuses_is_refused() -> None:
    function = {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "a.b"}}

    with pytest.raises(TemplateError):
        transform({"Transform": "AWS::Serverless-2016-10-31", "Resources": {"F": function}})


def test_no_role_is_made_by_sam_but_the_schedules_own(shipped: Template) -> None:
    """SAM's implicit roles carry managed policies that allow their actions on every resource."""
    roles = dict(shipped.of_type("AWS::IAM::Role"))

    managed = {name for name, role in roles.items() if role.get("ManagedPolicyArns")}
    assert managed == set()
