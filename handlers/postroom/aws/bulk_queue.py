"""A subscriber's queue over SQS, fed directly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..bulk import Message
from ..errors import Transient
from ..relay import Rejection
from .deployment import Deployment
from .sdk_errors import no_success


@dataclass(frozen=True, slots=True)
class SqsBulkQueue:
    """The queue at `url`. Each message carries the attributes that a topic's would."""

    deployment: Deployment
    url: str

    def send(self, messages: Sequence[Message]) -> Sequence[Rejection]:
        """One `SendMessageBatch`. Entry ids are indexes; a 200 can hold failures of single entries."""
        try:
            answer = self.deployment.client("sqs").send_message_batch(
                QueueUrl=self.url,
                Entries=[self._entry(str(index), message) for index, message in enumerate(messages)],
            )
        except no_success() as error:
            raise Transient(f"the queue did not take a batch: {error}") from error
        return [_rejection(failure) for failure in answer.get("Failed", ())]

    def _entry(self, index: str, message: Message) -> dict[str, Any]:
        return {
            "Id": index,
            "MessageBody": message.body,
            "MessageGroupId": message.group,
            "MessageAttributes": {
                "type": {"DataType": "String", "StringValue": message.event_type},
                "publication": {"DataType": "String", "StringValue": self.deployment.new_id()},
            },
        }


def _rejection(failure: dict[str, Any]) -> Rejection:
    reason = f"{failure.get('Code', '')}: {failure.get('Message', '')}"
    return Rejection(int(failure["Id"]), bool(failure.get("SenderFault")), reason)
