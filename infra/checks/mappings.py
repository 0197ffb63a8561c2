"""Rules on what wakes a function: the queues' and the stream's event source mappings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from infra.checks.template import Finding, Template

VISIBILITY_PER_TIMEOUT = 6
"""docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html: "set the queue's visibility timeout to at
least six times the function timeout", plus the batching window."""

NEW_EVENTS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"event": {"S": [{"exists": True}]}}}}
"""`exists` matches leaf nodes only: docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html"""
ENDED_JOBS = {
    "dynamodb": {
        "Keys": {"sk": {"S": [{"anything-but": ["webhooks", "campaign-mails"]}]}},
        "NewImage": {"state": {"S": ["completed", "dead", "expired"]}},
    }
}
ENDED_BY_MARKER = {
    "eventName": ["INSERT"],
    "dynamodb": {"NewImage": {"job": {"M": {"owner": {"S": [{"exists": True}]}}}}},
}
WANTED = (NEW_EVENTS, ENDED_JOBS, ENDED_BY_MARKER)


def mapping_reports_partial_failures(template: Template) -> Iterator[Finding]:
    """Without it Lambda takes any normal return for success and deletes the records that failed:
    docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html"""
    for name, mapping in template.mappings():
        if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
            yield Finding(name, "lacks FunctionResponseTypes: [ReportBatchItemFailures]")


def visibility_outlasts_the_function(template: Template) -> Iterator[Finding]:
    """A shorter one hands a record out again while its first run still goes on:
    docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html"""
    for _, mapping, queue in template.queue_mappings():
        function = template.properties(template.function_of(mapping))
        window = mapping.get("MaximumBatchingWindowInSeconds", 0)
        least = VISIBILITY_PER_TIMEOUT * function.get("Timeout", 3) + window
        visibility = template.properties(queue).get("VisibilityTimeout", 30)
        if visibility < least:
            yield Finding(queue, f"VisibilityTimeout is {visibility} s, and its function needs {least} s")


def queue_mapping_has_no_filter(template: Template) -> Iterator[Finding]:
    """Lambda deletes from the queue what a filter does not match. The subscription's filter drops nothing
    that was accepted: docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html"""
    for name, mapping, queue in template.queue_mappings():
        if mapping.get("FilterCriteria"):
            yield Finding(name, f"has FilterCriteria, which deletes other messages of {queue} unseen")


def queue_mapping_hands_out_at_once(template: Template) -> Iterator[Finding]:
    """A window delays every job, and makes batches of records whose visibility already runs:
    docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html"""
    for name, mapping, _ in template.queue_mappings():
        if mapping.get("MaximumBatchingWindowInSeconds", 0) != 0:
            yield Finding(name, "has a batching window: work queues hand out at once")


def queue_mapping_bounds_its_concurrency(template: Template) -> Iterator[Finding]:
    """Reserved concurrency throttles, and every throttled receive counts towards the dead-letter queue:
    docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html"""
    for name, mapping, _ in template.queue_mappings():
        if not mapping.get("ScalingConfig", {}).get("MaximumConcurrency"):
            yield Finding(name, "lacks ScalingConfig: {MaximumConcurrency}")
        function = template.function_of(mapping)
        if "ReservedConcurrentExecutions" in template.properties(function):
            yield Finding(function, "reserves concurrency: bound it at its mapping instead")


def stream_mapping_starts_at_the_oldest(template: Template) -> Iterator[Finding]:
    """LATEST skips what is written between the mapping's creation and its first poll:
    docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"""
    for name, mapping in template.stream_mappings():
        if mapping.get("StartingPosition") != "TRIM_HORIZON":
            yield Finding(name, "does not start at TRIM_HORIZON")


def stream_mapping_isolates_a_bad_record(template: Template) -> Iterator[Finding]:
    """By default one record that cannot be published holds its shard up until it is trimmed, after 24 h:
    docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html"""
    for name, mapping in template.stream_mappings():
        for bound in ("MaximumRetryAttempts", "MaximumRecordAgeInSeconds"):
            if mapping.get(bound, -1) < 0:
                yield Finding(name, f"has no bound: set {bound}")
        if not mapping.get("BisectBatchOnFunctionError"):
            yield Finding(name, "lacks BisectBatchOnFunctionError")
        if not mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination"):
            yield Finding(name, "lacks DestinationConfig: {OnFailure}")


def stream_mapping_wakes_for_what_is_new_only(template: Template) -> Iterator[Finding]:
    """Marking a row published, and its expiry, are records of the stream as well. Were the end of a webhook's
    delivery told by webhook, that would never end; were each mail's of a campaign, it would be a blast.
    docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html"""
    for name, mapping in template.stream_mappings():
        filters = mapping.get("FilterCriteria", {}).get("Filters", [])
        if [json.loads(filter_["Pattern"]) for filter_ in filters] not in [[pattern] for pattern in WANTED]:
            yield Finding(name, "wakes its function for more than a new event or the end of a job")


RULES = (
    mapping_reports_partial_failures,
    visibility_outlasts_the_function,
    queue_mapping_has_no_filter,
    queue_mapping_hands_out_at_once,
    queue_mapping_bounds_its_concurrency,
    stream_mapping_starts_at_the_oldest,
    stream_mapping_isolates_a_bad_record,
    stream_mapping_wakes_for_what_is_new_only,
)
