"""Rules on order: what is FIFO stays so from topic to dead letters, and goes to who takes it in order."""

from __future__ import annotations

from collections.abc import Iterator

from infra.checks.template import Finding, Properties, Template, target


def dead_letters_are_of_their_queues_type(template: Template) -> Iterator[Finding]:
    """SQS refuses another type, and the deployment fails:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html"""
    for source, dead, _ in template.redrives():
        if _is_fifo(template.properties(source)) != _is_fifo(template.properties(str(dead))):
            yield Finding(str(dead), f"is not of the same type as its source {source}")


def order_reaches_its_queue(template: Template) -> Iterator[Finding]:
    """From a standard queue order is gone, and a standard topic feeds no FIFO queue:
    docs.aws.amazon.com/sns/latest/dg/fifo-message-delivery.html"""
    for name, subscription in template.subscriptions():
        topic = _is_fifo(template.properties(str(target(subscription["TopicArn"]))))
        if topic != _is_fifo(template.properties(str(target(subscription["Endpoint"])))):
            yield Finding(name, "joins a FIFO topic and a standard queue, or the reverse")


def undelivered_keeps_its_order(template: Template) -> Iterator[Finding]:
    """SNS puts what a FIFO topic could not deliver into a FIFO queue only, and the reverse:
    docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html"""
    for name, subscription in template.subscriptions():
        dead = target(subscription.get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        topic = template.properties(str(target(subscription["TopicArn"])))
        if dead and _is_fifo(template.properties(dead)) != _is_fifo(topic):
            yield Finding(name, f"puts the undelivered into {dead}, which is not of its topic's type")


def ordered_job_has_a_fifo_queue(template: Template) -> Iterator[Finding]:
    """Its parked events are sent again to a message group, which only a FIFO queue has:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagegroupid-property.html"""
    for _, mapping, queue in template.queue_mappings():
        job = template.jobs.get(template.function_of(mapping))
        if job and job.is_ordered != _is_fifo(template.properties(queue)):
            wanted = "a FIFO" if job.is_ordered else "a standard"
            yield Finding(queue, f"must be {wanted} queue: {job.subscriber} says so")


def publisher_knows_both_topics(template: Template) -> Iterator[Finding]:
    """An ordered event would wait in the outbox for ever:
    docs.aws.amazon.com/sns/latest/dg/sns-fifo-topics.html"""
    for name, function in template.functions():
        variables = function.get("Environment", {}).get("Variables", {})
        if "TOPIC_ARN" in variables and "ORDERED_TOPIC_ARN" not in variables:
            yield Finding(name, "lacks ORDERED_TOPIC_ARN")


def _is_fifo(properties: Properties) -> bool:
    return bool(properties.get("FifoQueue") or properties.get("FifoTopic"))


RULES = (
    dead_letters_are_of_their_queues_type,
    order_reaches_its_queue,
    undelivered_keeps_its_order,
    ordered_job_has_a_fifo_queue,
    publisher_knows_both_topics,
)
