"""Each house rule on roles, storage, logs, names and the API's stage, broken."""

from __future__ import annotations

from typing import Any

from infra.checks.mutants.changes import Change, Mutant, Resources, add, put, unset

POLICIES = ("Policies", 0, "PolicyDocument", "Statement")
TRUST = ("AssumeRolePolicyDocument", "Statement", 0, "Principal")
STAGE = "ApiApiGatewayDefaultStage"
RELAY_LOGS = {"Ref": "RelayLogs"}


def without(resource: str, attribute: str) -> Change:
    """A resource without one of its attributes, such as `DeletionPolicy`."""

    def change(resources: Resources) -> None:
        del resources[resource][attribute]

    return change


def without_resource(resource: str) -> Change:
    def change(resources: Resources) -> None:
        del resources[resource]

    return change


def own_key_without_rights(resources: Resources) -> None:
    """SNS may use the key, and the consumer's role may not."""
    allowed: dict[str, Any] = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": ["kms:GenerateDataKey*", "kms:Decrypt"],
        "Condition": {"ArnEquals": {"aws:SourceArn": {"Ref": "EventsTopic"}}},
    }
    add("Key", "AWS::KMS::Key", {"KeyPolicy": {"Statement": [allowed]}})(resources)
    put("LoyaltyQueue", "KmsMasterKeyId", {"Ref": "Key"})(resources)


ROLES = [
    (
        "role-of-another",
        "function_has_a_role_of_its_own",
        put("LoyaltyFunction", "Role", {"Fn::GetAtt": ["WarehouseRole", "Arn"]}),
    ),
    (
        "role-from-outside",
        "function_has_a_role_of_its_own",
        put("LoyaltyFunction", "Role", "arn:aws:iam::123456789012:role/admin"),
    ),
    (
        "managed-policy",
        "role_has_no_managed_policy",
        put("LoyaltyRole", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"]),
    ),
    (
        "policy-from-elsewhere",
        "role_has_no_managed_policy",
        add("More", "AWS::IAM::Policy", {"Roles": [{"Ref": "LoyaltyRole"}], "PolicyName": "more"}),
    ),
    ("every-action", "role_names_its_actions", put("LoyaltyRole", *POLICIES, 2, "Action", "sqs:*")),
    (
        "reading-by-pattern",
        "role_names_its_actions",
        put("RelayRole", *POLICIES, 3, "Action", ["dynamodb:Get*"]),
    ),
    (
        "all-but-one-action",
        "role_names_its_actions",
        put("LoyaltyRole", *POLICIES, 2, "NotAction", "sqs:AddPermission"),
    ),
    ("every-resource", "role_names_its_resources", put("LoyaltyRole", *POLICIES, 2, "Resource", "*")),
    (
        "every-queue-of-any-account",
        "role_names_its_resources",
        put("LoyaltyRole", *POLICIES, 2, "Resource", ["arn:aws:sqs:*:*:*"]),
    ),
    (
        "sms-and-every-topic",
        "role_names_its_resources",
        put("ShippingSmsRole", *POLICIES, -1, "NotResource", "arn:aws:sns:eu-west-1:*:other"),
    ),
    (
        "role-for-the-account",
        "role_is_for_one_service",
        put("RelayRole", *TRUST, {"AWS": {"Ref": "AWS::AccountId"}}),
    ),
    ("role-for-everyone", "role_is_for_one_service", put("RelayRole", *TRUST, "*")),
    (
        "role-for-another-service-too",
        "role_is_for_one_service",
        put("RelayRole", *TRUST, "Service", ["lambda.amazonaws.com", "ec2.amazonaws.com"]),
    ),
    ("SEC-1-no-right-to-the-key", "role_may_use_the_keys", own_key_without_rights),
]

STORAGE = [
    ("table-goes-with-the-stack", "data_outlives_the_stack", without("ShopTable", "DeletionPolicy")),
    ("table-goes-when-replaced", "data_outlives_the_stack", without("JobsTable", "UpdateReplacePolicy")),
    ("invoices-go-with-the-stack", "data_outlives_the_stack", without("InvoiceBucket", "DeletionPolicy")),
    ("users-go-with-the-stack", "data_outlives_the_stack", without("Users", "DeletionPolicy")),
    ("no-recovery", "table_can_be_recovered", unset("ShopTable", "PointInTimeRecoverySpecification")),
    (
        "recovery-off",
        "table_can_be_recovered",
        put("JobsTable", "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled", False),
    ),
    (
        "unprotected",
        "production_table_cannot_be_deleted",
        put("ShopTable", "DeletionProtectionEnabled", False),
    ),
    (
        "protected-but-in-production",
        "production_table_cannot_be_deleted",
        put("ShopTable", "DeletionProtectionEnabled", {"Fn::If": ["Production", False, True]}),
    ),
    ("never-expires", "rows_expire_when_they_say", unset("JobsTable", "TimeToLiveSpecification")),
    (
        "expires-when-it-began",
        "rows_expire_when_they_say",
        put("JobsTable", "TimeToLiveSpecification", "AttributeName", "since"),
    ),
    (
        "older-than-its-marker",
        "memory_outlasts_every_replay",
        put("LoyaltyQueue", "MessageRetentionPeriod", 9 * 86_400),
    ),
]

LOGS = [
    (
        "logs-to-lambdas-own-group",
        "function_logs_to_a_group_of_its_own",
        unset("LoyaltyFunction", "LoggingConfig"),
    ),
    (
        "logs-among-the-relays",
        "function_logs_to_a_group_of_its_own",
        put("LoyaltyFunction", "LoggingConfig", "LogGroup", RELAY_LOGS),
    ),
    ("logs-for-ever", "logs_are_kept_for_a_time", unset("LoyaltyLogs", "RetentionInDays")),
    ("access-log-for-ever", "logs_are_kept_for_a_time", unset("ApiLogs", "RetentionInDays")),
]

STAGES = [
    ("no-throttle", "api_is_throttled", unset(STAGE, "DefaultRouteSettings")),
    ("no-burst-limit", "api_is_throttled", unset(STAGE, "DefaultRouteSettings", "ThrottlingBurstLimit")),
    ("no-access-log", "api_logs_its_requests", unset(STAGE, "AccessLogSettings")),
    (
        "access-log-without-the-request",
        "api_logs_its_requests",
        put(STAGE, "AccessLogSettings", "Format", "$context.status"),
    ),
]

NAMES = [
    ("queue-of-every-stage", "name_differs_between_stages", put("LoyaltyQueue", "QueueName", "loyalty")),
    ("table-of-every-stage", "name_differs_between_stages", put("JobsTable", "TableName", "jobs")),
    (
        "queue-of-every-stage-of-a-region",
        "name_differs_between_stages",
        put("UndeliveredQueue", "QueueName", {"Fn::Sub": "${AWS::Region}-undelivered"}),
    ),
    ("bucket-of-every-stage", "name_differs_between_stages", put("InvoiceBucket", "BucketName", "invoices")),
    ("function-of-every-stage", "name_differs_between_stages", put("RelayFunction", "FunctionName", "relay")),
]

QUEUES = [
    (
        "dead-letters-in-the-clear",
        "queue_is_encrypted",
        unset("LoyaltyDeadLetterQueue", "SqsManagedSseEnabled"),
    ),
    (
        "nobody-works",
        "subscribed_queue_is_worked_on",
        put("LoyaltyFunctionWork", "Enabled", False),
    ),
    (
        "nobody-ever-worked",
        "subscribed_queue_is_worked_on",
        put("LoyaltySubscription", "Endpoint", {"Fn::GetAtt": ["RelayFailures", "Arn"]}),
    ),
]

MUTANTS = [Mutant(*each) for each in (*ROLES, *STORAGE, *LOGS, *STAGES, *NAMES, *QUEUES)]
