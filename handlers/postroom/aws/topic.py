"""The relay's topic over SNS."""

from collections.abc import Sequence
from typing import Any

from ..errors import Permanent, Transient
from ..relay import Entry, Rejection
from .deployment import Deployment
from .sdk_errors import code_of, no_success

_TOO_LONG = "BatchRequestTooLong"
"""The one refusal of a whole call that can only be about what is in it: a wrong topic is a parameter, too.
docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html#API_PublishBatch_Errors"""


class SnsTopic:
    """Publishes to the topics that the function's environment names.

    `TOPIC_ARN` is the standard one; what has a message group goes to the FIFO one, `ORDERED_TOPIC_ARN`.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def publish(self, entries: Sequence[Entry]) -> Sequence[Rejection]:
        """One `PublishBatch`. Entry ids are indexes; a 200 can hold failures of single entries.

        docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
        """
        client = self._deployment.client("sns")
        try:
            answer = client.publish_batch(
                TopicArn=self._deployment.setting("ORDERED_TOPIC_ARN" if entries[0].group else "TOPIC_ARN"),
                PublishBatchRequestEntries=[_entry(str(index), entry) for index, entry in enumerate(entries)],
            )
        except no_success() as error:
            kind = Permanent if code_of(error) == _TOO_LONG else Transient
            raise kind(f"the topic did not take a batch: {error}") from error
        return [_rejection(failure) for failure in answer.get("Failed", ())]


def attributes(entry: Entry) -> dict[str, str]:
    """The message's attributes, which are all that a subscription can filter by."""
    return {"type": entry.event_type, "publication": entry.publication}


def _entry(index: str, entry: Entry) -> dict[str, Any]:
    """On a FIFO topic the publication id is the deduplication id: repeats are for subscribers to collapse.

    docs.aws.amazon.com/sns/latest/dg/fifo-message-dedup.html
    """
    fifo = {"MessageGroupId": entry.group, "MessageDeduplicationId": entry.publication} if entry.group else {}
    return {
        **fifo,
        "Id": index,
        "Message": entry.message,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value} for name, value in attributes(entry).items()
        },
    }


def _rejection(failure: dict[str, Any]) -> Rejection:
    reason = f"{failure.get('Code', '')}: {failure.get('Message', '')}"
    return Rejection(int(failure["Id"]), bool(failure.get("SenderFault")), reason)
