"""Each house rule on queues, mappings, subscriptions and requests, broken."""

from infra.checks.mutants.changes import Mutant, add, put, unset

TOPIC_STATEMENT = {
    "Effect": "Allow",
    "Principal": {"Service": "sns.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": "*",
    "Condition": {"ArnEquals": {"aws:SourceArn": {"Ref": "EventsTopic"}}},
}

POLICY = ("PolicyDocument", "Statement", 0)
REDRIVE = "RedrivePolicy"
SUBSCRIPTION_DLQ = (REDRIVE, "deadLetterTargetArn")
BODY_PATHS = ("Body", "paths")
STATEMENT_DEAD_LETTERS = {"Fn::GetAtt": ["StatementDeadLetterQueue", "Arn"]}

WEAKENINGS = [
    # id, rule, change
    (
        "API-5-checkout-over-29-s",
        "api_function_ends_before_the_gateway",
        put("CheckoutFunction", "Timeout", 30),
    ),
    ("API-5-jobs-over-29-s", "api_function_ends_before_the_gateway", put("JobsFunction", "Timeout", 900)),
    ("open-route", "route_needs_a_caller", unset("Api", *BODY_PATHS, "/jobs/{id}", "get", "security")),
    (
        "anonymous-route",
        "route_needs_a_caller",
        put("Api", *BODY_PATHS, "/checkout", "post", "security", [{}]),
    ),
    (
        "webhooks-to-loopback",
        "webhooks_go_to_the_public_only",
        put("WebhooksFunction", "Environment", "Variables", "WEBHOOK_RECEIVERS", "public-and-loopback"),
    ),
    (
        "webhooks-wherever-a-parameter-says",
        "webhooks_go_to_the_public_only",
        put("WebhooksApiFunction", "Environment", "Variables", "WEBHOOK_RECEIVERS", {"Ref": "Reach"}),
    ),
    (
        "webhooks-of-webhooks",
        "stream_mapping_wakes_for_what_is_new_only",
        put(
            "WebhooksOutcomesFunctionEnded",
            "FilterCriteria",
            "Filters",
            0,
            "Pattern",
            '{"dynamodb":{"NewImage":{"state":{"S":["completed","dead","expired"]}}}}',
        ),
    ),
    (
        "webhooks-of-each-mail-of-a-campaign",
        "stream_mapping_wakes_for_what_is_new_only",
        put(
            "WebhooksOutcomesFunctionEnded",
            "FilterCriteria",
            "Filters",
            0,
            "Pattern",
            '{"dynamodb":{"Keys":{"sk":{"S":[{"anything-but":["webhooks"]}]}},'
            '"NewImage":{"state":{"S":["completed","dead","expired"]}}}}',
        ),
    ),
    (
        "TIME-2-no-zone",
        "schedule_names_its_zone",
        unset("SweepFunctionEveryMinute", "ScheduleExpressionTimezone"),
    ),
    (
        "TIME-2-cron-rule",
        "schedule_names_its_zone",
        add("Nightly", "AWS::Events::Rule", {"ScheduleExpression": "cron(0 2 * * ? *)"}),
    ),
    (
        "BATCH-4-queue",
        "mapping_reports_partial_failures",
        unset("LoyaltyFunctionWork", "FunctionResponseTypes"),
    ),
    (
        "BATCH-4-stream",
        "mapping_reports_partial_failures",
        unset("RelayFunctionBorn", "FunctionResponseTypes"),
    ),
    ("SQS-3-too-short", "visibility_outlasts_the_function", put("LoyaltyQueue", "VisibilityTimeout", 179)),
    ("SQS-3-default", "visibility_outlasts_the_function", unset("InvoicesQueue", "VisibilityTimeout")),
    ("SQS-3-slower-function", "visibility_outlasts_the_function", put("ReceiptsFunction", "Timeout", 31)),
    (
        "SQS-3-window",
        "visibility_outlasts_the_function",
        put("WarehouseFunctionWork", "MaximumBatchingWindowInSeconds", 1),
    ),
    (
        "SQS-8-filter",
        "queue_mapping_has_no_filter",
        put("LoyaltyFunctionWork", "FilterCriteria", {"Filters": [{"Pattern": '{"body":{"a":[1]}}'}]}),
    ),
    (
        "batching-window",
        "queue_mapping_hands_out_at_once",
        put("LoyaltyFunctionWork", "MaximumBatchingWindowInSeconds", 5),
    ),
    (
        "no-maximum-concurrency",
        "queue_mapping_bounds_its_concurrency",
        unset("LoyaltyFunctionWork", "ScalingConfig"),
    ),
    (
        "reserved-concurrency",
        "queue_mapping_bounds_its_concurrency",
        put("LoyaltyFunction", "ReservedConcurrentExecutions", 5),
    ),
    (
        "STREAM-3-latest",
        "stream_mapping_starts_at_the_oldest",
        put("RelayFunctionBorn", "StartingPosition", "LATEST"),
    ),
    (
        "STREAM-3-endless-retries",
        "stream_mapping_isolates_a_bad_record",
        unset("RelayFunctionBorn", "MaximumRetryAttempts"),
    ),
    (
        "STREAM-3-endless-age",
        "stream_mapping_isolates_a_bad_record",
        put("RelayFunctionBorn", "MaximumRecordAgeInSeconds", -1),
    ),
    (
        "STREAM-3-no-bisect",
        "stream_mapping_isolates_a_bad_record",
        put("RelayFunctionBorn", "BisectBatchOnFunctionError", False),
    ),
    (
        "STREAM-3-no-on-failure",
        "stream_mapping_isolates_a_bad_record",
        unset("RelayFunctionBorn", "DestinationConfig"),
    ),
    (
        "relay-unfiltered",
        "stream_mapping_wakes_for_what_is_new_only",
        unset("RelayFunctionBorn", "FilterCriteria"),
    ),
    (
        "relay-wakes-for-updates",
        "stream_mapping_wakes_for_what_is_new_only",
        put(
            "RelayFunctionBorn",
            "FilterCriteria",
            "Filters",
            0,
            "Pattern",
            '{"dynamodb":{"NewImage":{"event":{"S":[{"exists":true}]}}}}',
        ),
    ),
    (
        "relay-filter-on-a-branch",
        "stream_mapping_wakes_for_what_is_new_only",
        put(
            "RelayFunctionBorn",
            "FilterCriteria",
            "Filters",
            0,
            "Pattern",
            '{"eventName":["INSERT"],"dynamodb":{"NewImage":{"event":[{"exists":true}]}}}',
        ),
    ),
    ("no-redrive", "work_queue_has_a_dead_letter_queue", unset("LoyaltyQueue", REDRIVE)),
    (
        "DLQ-1-four-days",
        "dead_letters_outlive_their_source",
        put("LoyaltyDeadLetterQueue", "MessageRetentionPeriod", 345_600),
    ),
    (
        "DLQ-1-default",
        "dead_letters_outlive_their_source",
        unset("LoyaltyDeadLetterQueue", "MessageRetentionPeriod"),
    ),
    (
        "DLQ-1-source-as-long",
        "dead_letters_outlive_their_source",
        put("LoyaltyQueue", "MessageRetentionPeriod", 1_209_600),
    ),
    (
        "undelivered-four-days",
        "undelivered_is_kept_fourteen_days",
        unset("UndeliveredQueue", "MessageRetentionPeriod"),
    ),
    (
        "relay-failures-one-day",
        "undelivered_is_kept_fourteen_days",
        put("RelayFailures", "MessageRetentionPeriod", 1),
    ),
    (
        "any-source",
        "dead_letter_queue_names_its_sources",
        unset("LoyaltyDeadLetterQueue", "RedriveAllowPolicy"),
    ),
    (
        "all-sources",
        "dead_letter_queue_names_its_sources",
        put("LoyaltyDeadLetterQueue", "RedriveAllowPolicy", {"redrivePermission": "allowAll"}),
    ),
    (
        "another-source",
        "dead_letter_queue_names_its_sources",
        put("LoyaltyQueue", "QueueName", {"Fn::Sub": "${AWS::StackName}-points"}),
    ),
    (
        "SNS-2-second-policy",
        "queue_has_one_policy",
        add(
            "Second",
            "AWS::SQS::QueuePolicy",
            {"Queues": [{"Ref": "LoyaltyQueue"}], "PolicyDocument": {"Statement": [TOPIC_STATEMENT]}},
        ),
    ),
    (
        "SNS-2-inline-policy",
        "queue_has_one_policy",
        add(
            "Second",
            "AWS::SQS::QueueInlinePolicy",
            {"Queue": {"Ref": "UndeliveredQueue"}, "PolicyDocument": {"Statement": TOPIC_STATEMENT}},
        ),
    ),
    ("SNS-6-any-principal", "only_the_topic_sends", put("LoyaltyQueuePolicy", *POLICY, "Principal", "*")),
    (
        "SNS-6-any-account",
        "only_the_topic_sends",
        put("LoyaltyQueuePolicy", *POLICY, "Principal", {"AWS": "*"}),
    ),
    ("SNS-6-any-topic", "only_the_topic_sends", unset("LoyaltyQueuePolicy", *POLICY, "Condition")),
    (
        "SNS-6-topics-by-pattern",
        "only_the_topic_sends",
        put("LoyaltyQueuePolicy", *POLICY, "Condition", {"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:*:*"}}),
    ),
    (
        "SNS-6-literal-wildcard",
        "only_the_topic_sends",
        put("LoyaltyQueuePolicy", *POLICY, "Condition", {"ArnEquals": {"aws:SourceArn": "*"}}),
    ),
    ("SNS-6-any-action", "only_the_topic_sends", put("LoyaltyQueuePolicy", *POLICY, "Action", "sqs:*")),
    (
        "topic-not-admitted",
        "subscribed_queue_takes_from_its_topic",
        put("LoyaltyQueuePolicy", "Queues", [{"Ref": "WarehouseQueue"}]),
    ),
    (
        "undelivered-not-admitted",
        "subscribed_queue_takes_from_its_topic",
        put("UndeliveredQueuePolicy", "Queues", [{"Ref": "RelayFailures"}]),
    ),
    (
        "SNS-3-aws-managed-key",
        "encryption_lets_the_topic_write",
        put("LoyaltyQueue", "KmsMasterKeyId", "alias/aws/sqs"),
    ),
    ("SNS-3-unsaid", "queue_is_encrypted", unset("UndeliveredQueue", "SqsManagedSseEnabled")),
    ("SNS-5-wrapped", "raw_delivery_is_explicit", put("LoyaltySubscription", "RawMessageDelivery", False)),
    ("SNS-5-unsaid", "raw_delivery_is_explicit", unset("LoyaltySubscription", "RawMessageDelivery")),
    ("SNS-4-scope-unsaid", "filter_scope_is_explicit", unset("LoyaltySubscription", "FilterPolicyScope")),
    (
        "SNS-4-body-field-in-attribute-scope",
        "filter_names_published_attributes",
        put(
            "LoyaltySubscription", "FilterPolicy", {"type": ["order.paid"], "amount": [{"numeric": [">", 0]}]}
        ),
    ),
    (
        "SNS-4-other-type",
        "subscription_matches_its_job_type",
        put("LoyaltySubscription", "FilterPolicy", "type", ["x"]),
    ),
    (
        "SNS-4-more-types",
        "subscription_matches_its_job_type",
        put("LoyaltySubscription", "FilterPolicy", "type", ["order.paid", "order.shipped"]),
    ),
    (
        "SNS-4-types-by-prefix",
        "subscription_matches_its_job_type",
        put("LoyaltySubscription", "FilterPolicy", "type", [{"prefix": "order."}]),
    ),
    (
        "SNS-4-and-something-else",
        "subscription_matches_its_job_type",
        put("LoyaltySubscription", "FilterPolicy", "publication", ["x"]),
    ),
    (
        "SNS-4-everything-twice",
        "subscription_matches_its_job_type",
        add(
            "Again",
            "AWS::SNS::Subscription",
            {
                "TopicArn": {"Ref": "EventsTopic"},
                "Endpoint": {"Fn::GetAtt": ["LoyaltyQueue", "Arn"]},
                "FilterPolicy": {"type": ["order.paid"]},
            },
        ),
    ),
    ("SNS-4-no-filter", "subscription_matches_its_job_type", unset("LoyaltySubscription", "FilterPolicy")),
    (
        "SNS-4-other-queue",
        "subscription_matches_its_job_type",
        put("LoyaltySubscription", "Endpoint", {"Fn::GetAtt": ["WarehouseQueue", "Arn"]}),
    ),
    ("undelivered-is-lost", "undelivered_is_kept_apart", unset("LoyaltySubscription", REDRIVE)),
    (
        "undelivered-among-dead-letters",
        "undelivered_is_kept_apart",
        put("LoyaltySubscription", *SUBSCRIPTION_DLQ, {"Fn::GetAtt": ["LoyaltyDeadLetterQueue", "Arn"]}),
    ),
    (
        "directly-fed-and-subscribed",
        "directly_fed_queue_has_one_source",
        put("CampaignsSubscription", "Endpoint", {"Fn::GetAtt": ["CampaignMailsQueue", "Arn"]}),
    ),
    (
        "directly-fed-by-nobody",
        "directly_fed_queue_has_one_source",
        unset("CampaignsFunction", "Environment", "Variables", "BULK_QUEUE_URL"),
    ),
    ("no-headroom", "receive_count_leaves_headroom", put("LoyaltyQueue", REDRIVE, "maxReceiveCount", 5)),
    (
        "little-headroom",
        "receive_count_leaves_headroom",
        put("ReceiptsQueue", REDRIVE, "maxReceiveCount", 59),
    ),
    (
        "another-queues-url",
        "function_knows_its_own_queue",
        put("LoyaltyFunction", "Environment", "Variables", "QUEUE_URL", {"Ref": "WarehouseQueue"}),
    ),
    (
        "queue-of-another-name",
        "queues_are_named_after_their_subscriber",
        put("LoyaltyQueue", "QueueName", {"Fn::Sub": "${AWS::StackName}-points"}),
    ),
    (
        "dead-letter-queue-without-a-name",
        "queues_are_named_after_their_subscriber",
        unset("LoyaltyDeadLetterQueue", "QueueName"),
    ),
    (
        "consumer-without-a-job-type",
        "queue_function_declares_a_job_type",
        put("LoyaltyFunctionWork", "FunctionName", {"Ref": "RelayFunction"}),
    ),
    (
        "standard-dead-letters-of-a-FIFO-queue",
        "dead_letters_are_of_their_queues_type",
        put("StatementDeadLetterQueue", "FifoQueue", False),
    ),
    (
        "FIFO-dead-letters-of-a-standard-queue",
        "dead_letters_are_of_their_queues_type",
        put("LoyaltyQueue", SUBSCRIPTION_DLQ[0], SUBSCRIPTION_DLQ[1], STATEMENT_DEAD_LETTERS),
    ),
    (
        "order-lost-on-the-way",
        "order_reaches_its_queue",
        put("StatementSubscription", "TopicArn", {"Ref": "EventsTopic"}),
    ),
    (
        "undelivered-out-of-order",
        "undelivered_keeps_its_order",
        put("StatementSubscription", *SUBSCRIPTION_DLQ, {"Fn::GetAtt": ["UndeliveredQueue", "Arn"]}),
    ),
    ("order-without-FIFO", "ordered_job_has_a_fifo_queue", unset("StatementQueue", "FifoQueue")),
    ("FIFO-without-order", "ordered_job_has_a_fifo_queue", put("LoyaltyQueue", "FifoQueue", True)),
    (
        "relay-without-the-ordered-topic",
        "publisher_knows_both_topics",
        unset("SweepFunction", "Environment", "Variables", "ORDERED_TOPIC_ARN"),
    ),
]

MUTANTS = [Mutant(*each) for each in WEAKENINGS]
