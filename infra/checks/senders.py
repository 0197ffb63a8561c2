"""Rules on who may write into a queue, and whether they can: policies and encryption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from infra.checks.template import Finding, Properties, Template, as_list, target, text

POLICIES = {
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues"),
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics"),
    "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket"),
}
"""By the kind of what is protected: its policy, and the property that attaches it."""


def queue_has_one_policy(template: Template) -> Iterator[Finding]:
    """A queue holds one policy document: a second resource silently overwrites the first:
    docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-sqs-queuepolicy.html"""
    policies = Counter(str(queue) for _, queue, _ in _policies(template))
    for queue, count in policies.items():
        if count > 1:
            yield Finding(queue, f"has {count} policies, of which one would win: merge their statements")


def only_the_topic_sends(template: Template) -> Iterator[Finding]:
    """A queue that takes from anyone can be fed forged orders:
    docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html"""
    for name, _, document in _policies(template):
        for statement in as_list(document["Statement"]):
            if statement["Effect"] == "Allow" and not _from_a_topic(template, statement):
                yield Finding(name, "allows more than sns.amazonaws.com with aws:SourceArn of a topic here")


def subscribed_queue_takes_from_its_topic(template: Template) -> Iterator[Finding]:
    """Without the permission SNS drops the message after its retries, and nobody is told:
    docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html"""
    admitted = {
        (queue, topic)
        for _, queue, document in _policies(template)
        for statement in as_list(document["Statement"])
        for topic in _source_topics(statement)
    }
    for name, subscription in template.subscriptions():
        topic = target(subscription["TopicArn"])
        for queue in _written_by(subscription):
            if (queue, topic) not in admitted:
                yield Finding(name, f"delivers to {queue}, whose policy does not let {topic} send")


def encryption_lets_the_topic_write(template: Template) -> Iterator[Finding]:
    """SNS cannot use the AWS-managed key, nor an own key that does not let it: messages vanish.
    docs.aws.amazon.com/sns/latest/dg/sns-enable-encryption-for-topic-sqs-queue-subscriptions.html"""
    written = {queue for _, subscription in template.subscriptions() for queue in _written_by(subscription)}
    for queue in sorted(filter(None, written)):
        properties = template.properties(queue)
        key = properties.get("KmsMasterKeyId")
        if key and not _key_lets_sns_in(template, target(key)):
            yield Finding(queue, "is encrypted with a key that sns.amazonaws.com may not use")


def queue_is_encrypted(template: Template) -> Iterator[Finding]:
    """Explicitly: what a region does by default is not seen here.
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-server-side-encryption.html"""
    for name, queue in template.queues():
        if not queue.get("KmsMasterKeyId") and queue.get("SqsManagedSseEnabled") is not True:
            yield Finding(name, "says neither SqsManagedSseEnabled: true nor KmsMasterKeyId")


def nothing_is_reached_without_tls(template: Template) -> Iterator[Finding]:
    """By default SQS, SNS and S3 answer over plain HTTP, too:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-security-best-practices.html"""
    for kind, (policy_kind, attached_to) in POLICIES.items():
        closed = {
            target(resource)
            for _, policy in template.of_type(policy_kind)
            for resource in as_list(policy[attached_to])
            for statement in as_list(policy["PolicyDocument"]["Statement"])
            if _refuses_plain_http(statement, resource)
        }
        for name, _ in template.of_type(kind):
            if name not in closed:
                yield Finding(name, "has no policy that denies all to who comes without TLS")


def _written_by(subscription: Properties) -> Iterator[str | None]:
    yield target(subscription["Endpoint"])
    if policy := subscription.get("RedrivePolicy"):
        yield target(policy["deadLetterTargetArn"])


def _policies(template: Template) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    for kind in ("AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy"):
        for name, policy in template.of_type(kind):
            for queue in as_list(policy.get("Queues", policy.get("Queue"))):
                yield name, target(queue), policy["PolicyDocument"]


def _refuses_plain_http(statement: Mapping[str, Any], resource: Any) -> bool:
    covers = target(resource) in set(map(target, as_list(statement.get("Resource"))))
    everybody = (statement["Effect"], statement.get("Principal")) == ("Deny", "*")
    everything = str(as_list(statement["Action"])[0]).endswith((":*", "sns:Publish"))
    plain = statement.get("Condition") == {"Bool": {"aws:SecureTransport": False}}
    return covers and everybody and everything and plain


def _from_a_topic(template: Template, statement: Mapping[str, Any]) -> bool:
    topics = {name for name, _ in template.of_type("AWS::SNS::Topic")}
    sources = list(_source_topics(statement))
    by_sns = statement.get("Principal") == {"Service": "sns.amazonaws.com"}
    sends = as_list(statement["Action"]) == ["sqs:SendMessage"]
    return by_sns and sends and bool(sources) and topics.issuperset(sources)


def _source_topics(statement: Mapping[str, Any]) -> Iterator[str]:
    for operator, keys in statement.get("Condition", {}).items():
        if operator in ("ArnEquals", "StringEquals"):
            yield from (target(arn) or text(arn) for arn in as_list(keys.get("aws:SourceArn", [])))


def _key_lets_sns_in(template: Template, key: str | None) -> bool:
    if key is None or key not in template.resources:
        return False
    granted: set[str] = set()
    for statement in as_list(template.properties(key)["KeyPolicy"]["Statement"]):
        if statement.get("Principal") == {"Service": "sns.amazonaws.com"} and statement.get("Condition"):
            granted.update(as_list(statement["Action"]))
    return "kms:Decrypt" in granted and bool(granted & {"kms:GenerateDataKey", "kms:GenerateDataKey*"})


RULES = (
    queue_has_one_policy,
    only_the_topic_sends,
    subscribed_queue_takes_from_its_topic,
    encryption_lets_the_topic_write,
    queue_is_encrypted,
    nothing_is_reached_without_tls,
)
