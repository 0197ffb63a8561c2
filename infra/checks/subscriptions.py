"""Rules on the fan-out: what a subscription says, and that it agrees with the subscriber's code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handlers.postroom import queue_names
from handlers.postroom.events import EventType
from handlers.postroom.jobs import JobType
from infra.checks.template import Finding, Properties, Template, as_list, target, text

MOST_ATTRIBUTES = 10
"""docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html"""

QUEUE_PREFIX = "${AWS::StackName}-"


def raw_delivery_is_explicit(template: Template) -> Iterator[Finding]:
    """The consumers read the event itself: SNS's own envelope around it is refused.
    docs.aws.amazon.com/sns/latest/dg/sns-large-payload-raw-message-delivery.html"""
    for name, subscription in template.subscriptions():
        if subscription.get("RawMessageDelivery") is not True:
            yield Finding(name, "does not say RawMessageDelivery: true")


def attributes_fit_raw_delivery(template: Template) -> Iterator[Finding]:
    """SNS discards a raw message with more of them, as an error of the sender's:
    docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html"""
    for name, subscription in template.subscriptions():
        if subscription.get("RawMessageDelivery") and len(template.attributes) > MOST_ATTRIBUTES:
            yield Finding(name, f"is sent {len(template.attributes)} attributes, and takes {MOST_ATTRIBUTES}")


def filter_scope_is_explicit(template: Template) -> Iterator[Finding]:
    """The default is the attributes; a policy written for body fields would then match nothing:
    docs.aws.amazon.com/sns/latest/dg/sns-message-filtering-scope.html"""
    for name, subscription in template.subscriptions():
        if "FilterPolicyScope" not in subscription:
            yield Finding(name, "does not say FilterPolicyScope")


def filter_names_published_attributes(template: Template) -> Iterator[Finding]:
    """A filter on anything else matches nothing, and its queue stays empty:
    docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html"""
    for name, subscription in template.subscriptions():
        unknown = set(subscription.get("FilterPolicy", {})) - template.attributes
        if subscription.get("FilterPolicyScope", "MessageAttributes") == "MessageAttributes" and unknown:
            yield Finding(name, f"filters on {', '.join(sorted(unknown))}, which no message carries")


def undelivered_is_kept_apart(template: Template) -> Iterator[Finding]:
    """A redrive of a queue's dead letters must not meet messages that never were in that queue.
    docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html"""
    dead = {dead for _, dead, _ in template.redrives()}
    work = {queue for _, _, queue in template.queue_mappings()}
    for name, subscription in template.subscriptions():
        own = target(subscription.get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        if own is None:
            yield Finding(name, "lacks a RedrivePolicy: what SNS cannot deliver would be lost")
        elif own in dead | work:
            yield Finding(name, f"puts the undelivered into {own}, which serves a queue already")


def subscription_matches_its_job_type(template: Template) -> Iterator[Finding]:
    """Every event type reaches exactly the subscribers that declare it:
    docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html"""
    for function, job, queue, _ in _subscribers(template):
        if _is_fed_directly(job):
            continue
        filters = list(_filters(template, queue))
        if filters != [{"type": sorted(job.on.names)}]:
            yield Finding(function, f"works on {job.on.name}, but {queue} is sent what fits {filters}")


def subscribed_queue_is_worked_on(template: Template) -> Iterator[Finding]:
    """What is delivered and read by nobody is gone when its retention ends; a mapping can be disabled:
    docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"""
    worked_on = {
        queue for _, mapping, queue in template.queue_mappings() if mapping.get("Enabled", True) is True
    }
    for name, subscription in template.subscriptions():
        if (queue := target(subscription["Endpoint"])) not in worked_on:
            yield Finding(name, f"delivers to {queue}, which no function works on")


def directly_fed_queue_has_one_source(template: Template) -> Iterator[Finding]:
    """What is sent straight to a queue comes from a function that names it, and from no topic beside:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"""
    subscribed = {target(subscription["Endpoint"]) for _, subscription in template.subscriptions()}
    for function, job, queue, _ in _subscribers(template):
        if not _is_fed_directly(job):
            continue
        if queue in subscribed:
            yield Finding(queue, f"is fed directly with {job.on.name}, and a topic's subscriber as well")
        if not any(name != function for name in _naming(template, queue)):
            yield Finding(queue, f"is to be fed directly with {job.on.name}, and no function names it")


def receive_count_leaves_headroom(template: Template) -> Iterator[Finding]:
    """Throttled and given-back receives count, too: nothing may be dead before its runs are used up.
    docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html"""
    limits = {queue: limit for queue, _, limit in template.redrives()}
    for _, job, queue, _ in _subscribers(template):
        if limits.get(queue, 0) < least_receive_count(job.retry.attempts):
            yield Finding(
                queue,
                f"maxReceiveCount is {limits.get(queue)}, and {job.retry.attempts} attempts with headroom "
                f"need {least_receive_count(job.retry.attempts)}",
            )


def function_knows_its_own_queue(template: Template) -> Iterator[Finding]:
    """It sets the back-off there; with another queue's URL every retry waits a whole visibility timeout.
    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html"""
    for function, _, queue, properties in _subscribers(template):
        variables = properties.get("Environment", {}).get("Variables", {})
        if target(variables.get("QUEUE_URL")) != queue:
            yield Finding(function, f"lacks QUEUE_URL: !Ref {queue}")


def queue_function_declares_a_job_type(template: Template) -> Iterator[Finding]:
    """What Lambda calls must take SQS's batches, and answer which records failed:
    docs.aws.amazon.com/lambda/latest/dg/with-sqs.html"""
    for _, mapping, queue in template.queue_mappings():
        function = template.function_of(mapping)
        if function not in template.jobs:
            yield Finding(function, f"consumes {queue}, but its module declares no job type")


def queues_are_named_after_their_subscriber(template: Template) -> Iterator[Finding]:
    """The watch, the command and the redrive policies find them by these names:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueUrl.html"""
    dead_letters = {queue: dead for queue, dead, _ in template.redrives()}
    for _, job, queue, _ in _subscribers(template):
        wanted = {queue: queue_names.work_queue(QUEUE_PREFIX, job.subscriber, ordered=job.is_ordered)}
        if dead := dead_letters.get(queue):
            wanted[dead] = queue_names.dead_letter_queue(QUEUE_PREFIX, job.subscriber, ordered=job.is_ordered)
        for name, queue_name in wanted.items():
            if text(template.properties(name).get("QueueName")) != queue_name:
                yield Finding(name, f"is not named {queue_name}")


def least_receive_count(attempts: int) -> int:
    """Headroom: half as many again, and at least ten."""
    return attempts + max(10, attempts // 2)


def _subscribers(template: Template) -> Iterator[tuple[str, JobType[Any], str, Properties]]:
    for _, mapping, queue in template.queue_mappings():
        function = template.function_of(mapping)
        if function in template.jobs:
            yield function, template.jobs[function], queue, template.properties(function)


def _is_fed_directly(job: JobType[Any]) -> bool:
    return isinstance(job.on, EventType) and job.on.direct


def _naming(template: Template, queue: str) -> Iterator[str]:
    """Functions whose environment tells them of a queue."""
    for name, properties in template.functions():
        variables = properties.get("Environment", {}).get("Variables", {})
        if queue in map(target, variables.values()):
            yield name


def _filters(template: Template, queue: str) -> Iterator[dict[str, list[str]]]:
    for _, subscription in template.subscriptions():
        if target(subscription["Endpoint"]) == queue:
            policy = subscription.get("FilterPolicy", {})
            yield {key: sorted(map(text, as_list(wanted))) for key, wanted in policy.items()}


RULES = (
    raw_delivery_is_explicit,
    attributes_fit_raw_delivery,
    filter_scope_is_explicit,
    filter_names_published_attributes,
    undelivered_is_kept_apart,
    subscription_matches_its_job_type,
    subscribed_queue_is_worked_on,
    directly_fed_queue_has_one_source,
    receive_count_leaves_headroom,
    function_knows_its_own_queue,
    queues_are_named_after_their_subscriber,
    queue_function_declares_a_job_type,
)
