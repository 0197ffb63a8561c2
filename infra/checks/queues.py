"""Rules on the queues: where what failed goes, and how long it is kept there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from infra.checks.template import Finding, Properties, Template, target, text

DEFAULT_RETENTION_SECONDS = 345_600
LONGEST_RETENTION_SECONDS = 1_209_600
"""4 and 14 days. docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html"""


def work_queue_has_a_dead_letter_queue(template: Template) -> Iterator[Finding]:
    """Without one, a message that always fails is tried until it expires, and then is gone:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html"""
    with_redrive = {queue for queue, dead, _ in template.redrives() if dead}
    for _, _, queue in template.queue_mappings():
        if queue not in with_redrive:
            yield Finding(queue, "has a consumer and no RedrivePolicy")


def dead_letters_outlive_their_source(template: Template) -> Iterator[Finding]:
    """On a standard queue the clock runs on from the first send, so an equal retention loses them at once:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html
    """
    for source, dead, _ in template.redrives():
        if retention_seconds(template.properties(str(dead))) < LONGEST_RETENTION_SECONDS:
            yield Finding(str(dead), "keeps dead letters for less than 14 days")
        if retention_seconds(template.properties(source)) >= retention_seconds(
            template.properties(str(dead))
        ):
            yield Finding(source, f"keeps messages as long as its dead-letter queue {dead} does")


def undelivered_is_kept_fourteen_days(template: Template) -> Iterator[Finding]:
    """What a subscription, a stream or a schedule gave up on waits there for a person, too:
    docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html"""
    for queue in last_resorts(template):
        if retention_seconds(template.properties(queue)) < LONGEST_RETENTION_SECONDS:
            yield Finding(queue, "keeps what could not be delivered for less than 14 days")


def dead_letter_queue_names_its_sources(template: Template) -> Iterator[Finding]:
    """Otherwise any queue of the account may redrive into it:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html"""
    sources = defaultdict(set)
    for source, dead, _ in template.redrives():
        sources[str(dead)].add(source)
    for dead, wanted in sources.items():
        policy = template.properties(dead).get("RedriveAllowPolicy", {})
        allowed = {_queue_named(template, arn) for arn in policy.get("sourceQueueArns", [])}
        if policy.get("redrivePermission") != "byQueue" or allowed != wanted:
            yield Finding(dead, f"lacks a RedriveAllowPolicy byQueue for exactly {', '.join(sorted(wanted))}")


def retention_seconds(queue: Properties) -> int:
    """How long a queue keeps a message, in seconds."""
    return int(queue.get("MessageRetentionPeriod", DEFAULT_RETENTION_SECONDS))


def last_resorts(template: Template) -> set[str]:
    """The queues of what a subscription, a mapping or a schedule gave up on."""
    return {queue for queue in map(target, _destinations(template)) if queue}


def _destinations(template: Template) -> Iterator[Any]:
    for _, subscription in template.subscriptions():
        yield subscription.get("RedrivePolicy", {}).get("deadLetterTargetArn")
    for _, mapping in template.mappings():
        yield mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    for _, schedule in template.of_type("AWS::Scheduler::Schedule"):
        yield schedule["Target"].get("DeadLetterConfig", {}).get("Arn")


def _queue_named(template: Template, arn: Any) -> str | None:
    for name, queue in template.queues():
        if text(arn).endswith(f":{text(queue.get('QueueName'))}"):
            return name
    return target(arn)


RULES = (
    work_queue_has_a_dead_letter_queue,
    dead_letters_outlive_their_source,
    undelivered_is_kept_fourteen_days,
    dead_letter_queue_names_its_sources,
)
