"""Make a template's resources in the AWS model, as CloudFormation would."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from infra.expand import TemplateError
from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.scheduler.expressions import ExpressionError, Rate, parse

if TYPE_CHECKING:
    from boto3.session import Session

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Made:
    """What `Ref` and `Fn::GetAtt` of a resource give."""

    ref: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """Where resources are made. `now` gives epoch seconds."""

    session: Session
    number: str
    region: str
    now: Callable[[], float] = time.time
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.session.client(service)  # type: ignore[call-overload]
        return self._clients[service]

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.number}:{resource}"


Maker = Callable[[Account, str, Properties], Made]

QUEUE_ATTRIBUTES = (
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "VisibilityTimeout",
)
"""Properties that are queue attributes of the same name; those of encryption change nothing here."""

_TABLE_PROPERTIES = ("AttributeDefinitions", "BillingMode", "KeySchema", "StreamSpecification")


def _table(account: Account, logical_id: str, properties: Properties) -> Made:
    client = account.client("dynamodb")
    name = properties.get("TableName", logical_id)
    request: dict[str, Any] = {key: properties[key] for key in _TABLE_PROPERTIES if key in properties}
    request["BillingMode"] = "PAY_PER_REQUEST"
    if "StreamSpecification" in request:
        request["StreamSpecification"] = {"StreamEnabled": True, **request["StreamSpecification"]}
    if "GlobalSecondaryIndexes" in properties:
        request["GlobalSecondaryIndexes"] = [_index(index) for index in properties["GlobalSecondaryIndexes"]]
    description = client.create_table(TableName=name, **request)["TableDescription"]
    if properties.get("TimeToLiveSpecification", {}).get("Enabled"):
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification=properties["TimeToLiveSpecification"]
        )
    return Made(name, {"Arn": description["TableArn"], "StreamArn": description.get("LatestStreamArn", "")})


def _index(index: Properties) -> dict[str, Any]:
    return {key: index[key] for key in ("IndexName", "KeySchema", "Projection")}


def _queue(account: Account, logical_id: str, properties: Properties) -> Made:
    client = account.client("sqs")
    is_fifo = _text(properties.get("FifoQueue")) == "true"
    name = properties.get("QueueName", f"{logical_id}{'.fifo' if is_fifo else ''}")
    attributes = {key: _text(properties[key]) for key in QUEUE_ATTRIBUTES if key in properties}
    if not is_fifo:
        # CloudFormation takes `false` here; the API knows no such value.
        attributes.pop("FifoQueue", None)
    url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return Made(url, {"Arn": account.arn("sqs", name), "QueueName": name, "QueueUrl": url})


def _queue_policy(account: Account, logical_id: str, properties: Properties) -> Made:
    client = account.client("sqs")
    for url in properties["Queues"]:
        client.set_queue_attributes(
            QueueUrl=url, Attributes={"Policy": json.dumps(properties["PolicyDocument"])}
        )
    return Made(logical_id)


def _topic(account: Account, logical_id: str, properties: Properties) -> Made:
    is_fifo = _text(properties.get("FifoTopic")) == "true"
    name = properties.get("TopicName", f"{logical_id}{'.fifo' if is_fifo else ''}")
    names = ("FifoTopic", "ContentBasedDeduplication", "FifoThroughputScope") if is_fifo else ()
    attributes = {key: _text(properties[key]) for key in names if key in properties}
    arn = account.client("sns").create_topic(Name=name, Attributes=attributes)["TopicArn"]
    return Made(arn, {"TopicArn": arn, "TopicName": name})


def _subscription(account: Account, _logical_id: str, properties: Properties) -> Made:
    names = ("FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy")
    arn = account.client("sns").subscribe(
        TopicArn=properties["TopicArn"],
        Protocol=properties["Protocol"],
        Endpoint=properties["Endpoint"],
        Attributes={name: _text(properties[name]) for name in names if name in properties},
        ReturnSubscriptionArn=True,
    )["SubscriptionArn"]
    return Made(arn, {"Arn": arn})


def _bucket(account: Account, logical_id: str, properties: Properties) -> Made:
    name = properties.get("BucketName", logical_id.lower())
    account.client("s3").create_bucket(
        Bucket=name, CreateBucketConfiguration={"LocationConstraint": account.region}
    )
    return Made(name, {"Arn": f"arn:aws:s3:::{name}"})


def _schedule_group(account: Account, logical_id: str, properties: Properties) -> Made:
    name = properties.get("Name", logical_id)
    arn = account.client("scheduler").create_schedule_group(Name=name)["ScheduleGroupArn"]
    return Made(name, {"Arn": arn})


def _schedule(account: Account, logical_id: str, properties: Properties) -> Made:
    name = properties.get("Name", logical_id)
    request = {"StartDate": _start(account, properties["ScheduleExpression"]), **properties, "Name": name}
    given = {key: value for key, value in request.items() if value is not None}
    try:
        arn = account.client("scheduler").create_schedule(**given)["ScheduleArn"]
    except ClientError as error:
        raise TemplateError(f"{logical_id}: {error.response['Error']['Message']}") from error
    return Made(name, {"Arn": arn})


def _start(account: Account, expression: str) -> float | None:
    """A rate would call at once: a stack that has just come up has nothing yet to be looked after."""
    now_ms = milliseconds(account.now())
    try:
        times = parse(expression, "UTC", now_ms)
    except ExpressionError:
        return None
    return (now_ms + times.every_ms) / MILLISECONDS if isinstance(times, Rate) else None


def _secret(account: Account, logical_id: str, _properties: Properties) -> Made:
    """Nothing is kept secret on this machine: what refers to it gets the reference itself."""
    return Made(account.arn("secretsmanager", f"secret:{logical_id}"))


MAKERS: Mapping[str, Maker] = {
    "AWS::DynamoDB::Table": _table,
    "AWS::S3::Bucket": _bucket,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::Scheduler::ScheduleGroup": _schedule_group,
    "AWS::SNS::Subscription": _subscription,
    "AWS::SNS::Topic": _topic,
    "AWS::SQS::Queue": _queue,
    "AWS::SQS::QueuePolicy": _queue_policy,
    "AWS::SecretsManager::Secret": _secret,
}


def _text(value: Any) -> str:
    """A property as the API takes it: documents as JSON, booleans in lower case."""
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
