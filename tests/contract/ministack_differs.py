"""What MiniStack 1.5.33 does not keep of AWS's promises; the documentation of each is cited with its test.

Each is expected to fail: should one be kept some day, the suite says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Difference:
    """Of a test's parameters all, or those whose ids contain one of `of`, come out otherwise than on AWS."""

    reason: str
    of: tuple[str, ...] = ()

    def concerns(self, parameters: str) -> bool:
        return not self.of or any(f"-{each}-" in f"-{parameters}-" for each in self.of)


def differs(reason: str, *of: str) -> Difference:
    return Difference(reason, of)


DIFFERENCES: Mapping[str, Mapping[str, Difference]] = {
    "test_dynamodb_streams": {
        "test_statements_leave_records": differs("a PartiQL update leaves no record in the stream"),
    },
    "test_dynamodb_transactions": {
        "test_an_impossible_update_is_a_reason_too": differs("does the rest of the transaction"),
    },
    "test_dynamodb_updates": {
        "test_a_sum_beyond_38_digits_is_refused": differs("keeps any number of digits"),
        "test_actions": differs("removes one by one, so that later elements have moved", "REMOVE l[0], l[2]"),
        "test_what_cannot_be_is_refused_and_changes_nothing": differs(
            "takes updates that overlap or that types do not allow",
            *("append-to-number", "no-number", "overlap", "syntax", "twice"),
        ),
    },
    "test_scheduler": {
        "test_a_deletion_repeated_under_its_token_is_no_error": differs("knows no client tokens"),
        "test_a_group_that_does_not_exist_is_told": differs("lists an unknown group, empty", "odd-list"),
        "test_a_schedule_is_shown_as_it_was_made": differs("shows no retry policy that was not given"),
        "test_a_long_list_comes_in_pages": differs("forgets where a list goes on"),
        "test_the_same_request_under_the_same_token_is_done_once": differs("knows no client tokens"),
        "test_what_is_no_schedule_is_refused": differs(
            "takes expressions, zones, targets and dead-letter queues of any kind",
            *("both-days", "fifo-dead-letters", "five-fields", "hour-24", "input", "no-expression"),
            *("no-such-day", "no-such-zone", "no-t", "not-modelled", "nothing", "past", "retries", "unit"),
        ),
    },
    "test_sns": {
        "test_a_bad_entry_fails_alone": differs("takes entries that a single publish would refuse"),
        "test_a_batch_shares_the_topics_limit": differs("measures each entry by itself"),
        "test_a_batch_wrong_as_a_whole_is_refused": differs(
            "has another code, or takes odd ids", "empty", "id"
        ),
        "test_a_denial_beats_what_is_allowed": differs("asks no queue policy"),
        "test_a_policy_that_names_another_topic_lets_this_one_not_in": differs("asks no queue policy"),
        "test_a_queue_that_does_not_let_the_topic_in_gets_nothing": differs("asks no queue policy"),
        "test_a_topics_limit_can_be_raised": differs("has 256 KiB as its only limit"),
        "test_what_cannot_be_delivered_goes_to_the_subscriptions_dead_letter_queue": differs(
            "asks no queue policy, so that everything can be delivered"
        ),
        "test_what_is_no_number_gets_no_sms": differs("sends to anything"),
        "test_what_xml_cannot_hold_is_refused": differs("takes any character"),
    },
    "test_sns_fifo": {
        "test_a_fifo_queue_takes_from_fifo_topics_only": differs(
            "takes the subscription, and delivers nothing"
        ),
        "test_a_standard_queue_gets_the_messages_without_groups": differs("passes the group on"),
        "test_a_standard_topic_passes_groups_on_to_standard_queues": differs("takes an id, too"),
        "test_a_subscriptions_dead_letter_queue_is_of_the_topics_type": differs("takes a queue of any type"),
        "test_a_topics_name_fits_its_type": differs("asks no more than the suffix"),
        "test_ids_that_are_missing_or_malformed_are_refused": differs("has another code, or takes any id"),
        "test_what_cannot_be_delivered_keeps_its_group_in_the_subscriptions_dead_letter_queue": differs(
            "asks no queue policy, so that everything can be delivered"
        ),
    },
    "test_sns_filters": {
        "test_a_policy_that_is_none_is_refused": differs(
            "takes policies that it does not understand",
            *("no-list-of-values", "list", "text", "unknown-operator"),
        ),
        "test_scope_message_attributes": differs("takes no attributes for none that lack", "policy16"),
        "test_scope_message_body": differs(
            "reads numbers out of texts, and neither null nor lists of objects", *("null", "text", "policy8")
        ),
    },
    "test_sqs_dead_letters": {
        "test_the_target_must_exist": differs("has another code"),
    },
    "test_sqs_fifo": {
        "test_a_dead_letter_queue_is_of_its_sources_type": differs("takes a queue of any type"),
        "test_a_dead_letters_deduplication_id_is_its_message_id": differs("keeps the first one"),
        "test_a_queue_tells_that_it_is_fifo": differs("tells no defaults"),
        "test_a_queues_name_and_attributes_fit_its_type": differs(
            "takes names and values of any kind",
            "choice.fifo",
            "standard",
            "throughput.fifo",
            "odd.fifo",
            "attributes2",
        ),
        "test_a_queues_type_never_changes": differs("makes a standard queue FIFO"),
        "test_a_receive_returns_one_group_as_far_as_it_goes_and_then_the_next": differs("mixes groups"),
        "test_ids_that_are_missing_or_malformed_are_refused": differs("takes any id", "empty", "odd-id"),
        "test_numbers_grow_and_are_not_consecutive": differs("numbers one after the other"),
    },
    "test_sqs_groups": {
        "test_a_deduplication_id_is_for_fifo_queues": differs("takes it"),
        "test_a_group_that_is_none_is_refused": differs("takes any group"),
        "test_a_noisy_tenant_does_not_keep_a_quiet_one_waiting": differs("knows no fair queues"),
    },
    "test_sqs_leases": {
        "test_deleting_twice_is_no_error": differs("takes a receipt handle once"),
        "test_visibility_is_bounded": differs("has no bounds"),
    },
    "test_sqs_messages": {
        "test_a_delay_is_at_most_fifteen_minutes": differs("has no bounds", "-1", "901"),
        "test_an_empty_attribute_value_is_refused": differs("takes it"),
        "test_an_unknown_attribute_is_refused": differs("takes it"),
        "test_more_than_ten_attributes_are_refused": differs("takes any number"),
    },
}


def difference(request: pytest.FixtureRequest) -> Difference | None:
    """How this test comes out otherwise on MiniStack, if it does."""
    module = request.node.module.__name__.rpartition(".")[2]
    found = DIFFERENCES.get(module, {}).get(request.node.originalname)
    _, _, parameters = request.node.name.partition("[ministack")
    return found if found and found.concerns(parameters.removesuffix("]").removeprefix("-")) else None
