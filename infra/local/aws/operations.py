"""Every operation the model answers; a test holds this list to what handlers, infra and tests call."""

from collections.abc import Mapping

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "dynamodb": (
        "BatchExecuteStatement",
        "BatchGetItem",
        "CreateTable",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactWriteItems",
        "UpdateItem",
        "UpdateTimeToLive",
    ),
    "dynamodbstreams": ("DescribeStream", "GetRecords", "GetShardIterator"),
    "s3": ("CreateBucket", "DeleteObject", "GetObject", "ListObjectVersions", "PutObject"),
    "scheduler": (
        "CreateSchedule",
        "CreateScheduleGroup",
        "DeleteSchedule",
        "GetSchedule",
        "ListSchedules",
    ),
    "sns": ("CreateTopic", "Publish", "PublishBatch", "SetSubscriptionAttributes", "Subscribe"),
    "sqs": (
        "CancelMessageMoveTask",
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "CreateQueue",
        "DeleteMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListMessageMoveTasks",
        "ReceiveMessage",
        "SendMessage",
        "SendMessageBatch",
        "SetQueueAttributes",
        "StartMessageMoveTask",
    ),
}
