"""Each house rule on alarms, TLS and browsers, broken."""

from __future__ import annotations

from infra.checks.mutants.changes import Mutant, put, unset
from infra.checks.mutants.defences import without_resource

ALARM = "LoyaltyDeadLettersAlarm"
WITHOUT_TLS = ("PolicyDocument", "Statement", -1)
CORS = ("Body", "x-amazon-apigateway-cors")
ALARMS_KEY = ("KeyPolicy", "Statement", -1)

ALARMS = [
    ("DLQ-2-no-alarm", "dead_letters_are_told", without_resource(ALARM)),
    ("DLQ-2-undelivered-untold", "dead_letters_are_told", without_resource("UndeliveredAlarm")),
    ("DLQ-2-messages-sent", "dead_letters_are_told", put(ALARM, "MetricName", "NumberOfMessagesSent")),
    ("DLQ-2-average", "dead_letters_are_told", put(ALARM, "Statistic", "Average")),
    (
        "DLQ-2-more-than-one",
        "dead_letters_are_told",
        put(ALARM, "ComparisonOperator", "GreaterThanThreshold"),
    ),
    ("DLQ-2-missing-data", "dead_letters_are_told", put(ALARM, "TreatMissingData", "missing")),
    (
        "DLQ-2-alarm-for-the-work-queue",
        "dead_letters_are_told",
        put(ALARM, "Dimensions", 0, "Value", {"Fn::GetAtt": ["LoyaltyQueue", "QueueName"]}),
    ),
    ("alarm-for-nobody", "alarm_tells_somebody_what_to_do", unset(ALARM, "AlarmActions")),
    ("alarm-switched-off", "alarm_tells_somebody_what_to_do", put(ALARM, "ActionsEnabled", False)),
    (
        "alarm-without-a-runbook",
        "alarm_tells_somebody_what_to_do",
        put("ReconcileIdleAlarm", "AlarmDescription", "Charges are not reconciled."),
    ),
    (
        "silence-means-nothing",
        "alarm_says_what_silence_means",
        unset("ReconcileIdleAlarm", "TreatMissingData"),
    ),
    (
        "alarms-topic-with-the-key-of-sns",
        "alarm_can_use_its_topics_key",
        put("AlarmsTopic", "KmsMasterKeyId", "alias/aws/sns"),
    ),
    (
        "key-that-cloudwatch-may-not-use",
        "alarm_can_use_its_topics_key",
        put("TopicsKey", *ALARMS_KEY, "Action", ["kms:Decrypt"]),
    ),
]

TLS = [
    ("queue-over-plain-http", "nothing_is_reached_without_tls", unset("LoyaltyQueuePolicy", *WITHOUT_TLS)),
    (
        "dead-letters-over-plain-http",
        "nothing_is_reached_without_tls",
        without_resource("LoyaltyDeadLetterQueuePolicy"),
    ),
    (
        "topics-over-plain-http",
        "nothing_is_reached_without_tls",
        put("AlarmsTopicPolicy", *WITHOUT_TLS, "Resource", {"Ref": "EventsTopic"}),
    ),
    (
        "invoices-over-plain-http",
        "nothing_is_reached_without_tls",
        put("InvoiceBucketPolicy", *WITHOUT_TLS, "Condition", {"Bool": {"aws:SecureTransport": True}}),
    ),
]

BROWSERS = [
    ("pages-of-any-site", "cors_is_for_one_origin", put("Api", *CORS, "allowOrigins", ["*"])),
    (
        "pages-of-two-sites",
        "cors_is_for_one_origin",
        put("Api", *CORS, "allowOrigins", [{"Ref": "WebOrigin"}, "https://other.example.com"]),
    ),
]

MUTANTS = [Mutant(*each) for each in (*ALARMS, *TLS, *BROWSERS)]
