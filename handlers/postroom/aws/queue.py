"""The consumer's queue over SQS: when what was not acknowledged comes back."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import Transient
from ..outbox import message_group
from .deployment import Deployment
from .sdk_errors import no_success
from .tables import chunks

logger = logging.getLogger("postroom.queue")

BATCH_ENTRIES = 10
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html"""


class Visibility(NamedTuple):
    """When a message becomes visible again: whole seconds from now, 0 to 43,200."""

    receipt_handle: str
    seconds: int


class SqsQueue:
    """The queue at `url`, or that which the function's environment names (`QUEUE_URL`)."""

    def __init__(self, deployment: Deployment, url: str | None = None) -> None:
        self._deployment = deployment
        self._given_url = url

    def change_visibility(self, changes: Sequence[Visibility]) -> None:
        """Set when each message comes back.

        It never raises: a stale receipt handle or a busy queue must not decide over a record's outcome; the
        message then comes back when its visibility timeout ends.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        for chunk in chunks(list(changes), BATCH_ENTRIES):
            try:
                answer = self._deployment.client("sqs").change_message_visibility_batch(
                    QueueUrl=self._given_url or self._deployment.setting("QUEUE_URL"),
                    Entries=[
                        {
                            "Id": str(index),
                            "ReceiptHandle": change.receipt_handle,
                            "VisibilityTimeout": change.seconds,
                        }
                        for index, change in enumerate(chunk)
                    ],
                )
            except (ClientError, BotoCoreError) as error:
                logger.warning("queue.visibility_unchanged", exc_info=error, extra={"messages": len(chunk)})
                continue
            for failure in answer.get("Failed", ()):
                logger.warning("queue.visibility_unchanged", extra={"code": failure.get("Code")})

    def send_again(self, body: str, group: str, publication: str) -> None:
        """Put a message back at the end of its group; a new deduplication id, or SQS would drop it.

        docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
        """
        try:
            self._deployment.client("sqs").send_message(
                QueueUrl=self._given_url or self._deployment.setting("QUEUE_URL"),
                MessageBody=body,
                MessageGroupId=message_group(group),
                MessageDeduplicationId=self._deployment.new_id(),
                MessageAttributes=_attributes(publication),
            )
        except no_success() as error:
            raise Transient(f"the queue did not take a message back: {error}") from error


def _attributes(publication: str) -> dict[str, Any]:
    """What a person has sent by hand comes without; and SQS refuses an attribute with an empty value.

    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_MessageAttributeValue.html
    """
    return {"publication": {"DataType": "String", "StringValue": publication}} if publication else {}
