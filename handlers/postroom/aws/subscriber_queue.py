"""A subscriber's work queue over SQS, for what is sent to it alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Transient
from ..queue_names import work_queue
from .deployment import Deployment
from .sdk_errors import no_success


@dataclass(frozen=True, slots=True)
class SqsSubscriberQueue:
    """Found by its name, whose beginning the environment tells (`QUEUE_PREFIX`)."""

    deployment: Deployment
    subscriber: str
    ordered: bool = False

    def send(self, body: str, attributes: Mapping[str, str], group: str = "") -> str:
        client = self.deployment.client("sqs")
        name = work_queue(self.deployment.setting("QUEUE_PREFIX"), self.subscriber, ordered=self.ordered)
        fifo = {"MessageGroupId": group, "MessageDeduplicationId": self.deployment.new_id()}
        try:
            answer = client.send_message(
                QueueUrl=client.get_queue_url(QueueName=name)["QueueUrl"],
                MessageBody=body,
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
                },
                **(fifo if self.ordered else {}),
            )
        except no_success() as error:
            raise Transient(f"the queue {name} did not take a message: {error}") from error
        return str(answer["MessageId"])
