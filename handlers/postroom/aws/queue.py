"""The consumer's queue over SQS: when what was not acknowledged comes back."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from .deployment import Deployment
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
