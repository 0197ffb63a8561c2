"""The operations of Amazon SQS.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html
"""

import re
from collections.abc import Mapping
from typing import Any

from infra.local.aws import batch
from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.sqs import checks
from infra.local.aws.sqs import message as messages
from infra.local.aws.sqs.fifo_queue import FifoQueue
from infra.local.aws.sqs.message import Message, Received
from infra.local.aws.sqs.move_tasks import MoveTasks
from infra.local.aws.sqs.queue import MAX_VISIBILITY_SECONDS, Queue
from infra.local.aws.sqs.settings import Settings

Params = Mapping[str, Any]
Answer = dict[str, Any]

MAX_RECEIVED = 10
_CALLER = "AIDALOCALCALLER"


class Sqs:
    """All queues of the account."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self.queues: dict[str, Queue] = {}
        self._move_tasks = MoveTasks(region, self.queues)

    def queue(self, name: str) -> Queue:
        """A queue by its name, ARN or URL (of whatever host); QueueDoesNotExist when there is none."""
        found = self.queues.get(re.split("[:/]", name)[-1])
        if found is None:
            raise AwsError("QueueDoesNotExist", "The specified queue does not exist.")
        return found

    def deliver(self, queue_arn: str, topic_arn: str, message: Message) -> bool:
        """Take a message from a topic, if the queue exists and its policy lets the topic send."""
        queue = self.queues.get(queue_arn.split(":")[-1])
        if queue is None or not self._may_send(queue, topic_arn):
            return False
        if messages.size(message.body, message.attributes) > queue.settings.max_message_bytes:
            return False
        queue.accept(message)
        return True

    def create_queue(self, params: Params) -> Answer:
        name, settings = params["QueueName"], Settings(params.get("Attributes") or {})
        checks.check_name(name, settings)
        known = self.queues.get(name)
        if known is None:
            self._check_target(settings)
            kind = FifoQueue if settings.is_fifo else Queue
            known = self.queues[name] = kind(self._region, name, settings, self.queue)
        elif {**known.settings.shown(), **settings.attributes} != known.settings.shown():
            raise AwsError(
                "QueueNameExists", "A queue already exists with the same name and a different value."
            )
        return {"QueueUrl": known.url}

    def get_queue_url(self, params: Params) -> Answer:
        return {"QueueUrl": self.queue(params["QueueName"]).url}

    def get_queue_attributes(self, params: Params) -> Answer:
        queue = self.queue(params["QueueUrl"])
        names = params.get("AttributeNames") or []
        attributes = self._attributes(queue)
        wanted = attributes if "All" in names else names
        return {"Attributes": {name: attributes[name] for name in wanted if name in attributes}}

    def set_queue_attributes(self, params: Params) -> Answer:
        queue = self.queue(params["QueueUrl"])
        settings = queue.settings.with_changes(params["Attributes"])
        self._check_target(settings)
        queue.settings = settings
        return {}

    def send_message(self, params: Params) -> Answer:
        queue = self.queue(params["QueueUrl"])
        body, attributes = params.get("MessageBody"), params.get("MessageAttributes") or {}
        checks.check_message(queue, body, attributes)
        delay = checks.bounded(params, "DelaySeconds", 900)
        checks.check_ids(queue, params)
        system = {
            name: value["StringValue"] for name, value in params.get("MessageSystemAttributes", {}).items()
        }
        message = Message(
            self._region.new_id(),
            str(body),
            self._region.now_ms(),
            _CALLER,
            attributes,
            system,
            group=params.get("MessageGroupId"),
            deduplication_id=checks.deduplication_id(queue, params),
        )
        sent = queue.accept(message, None if queue.settings.is_fifo else delay)
        digest = {"MD5OfMessageAttributes": messages.attributes_md5(attributes)} if attributes else {}
        order = {} if sent.sequence_number is None else {"SequenceNumber": sent.sequence_number}
        return {"MessageId": sent.id, "MD5OfMessageBody": messages.md5(message.body), **digest, **order}

    def send_message_batch(self, params: Params) -> Answer:
        """Ten messages at most, and all of them together no larger than one may be.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
        """
        entries, url = params["Entries"], params["QueueUrl"]
        queue = self.queue(url)
        batch.check(entries)
        limit = queue.settings.max_message_bytes
        if sum(checks.size(entry) for entry in entries) > limit:
            raise AwsError(
                "BatchRequestTooLong", f"Batch requests cannot be longer than {limit} bytes together."
            )
        is_partial = self._region.switches.is_partial("sqs", "SendMessageBatch")
        return batch.run(entries, lambda entry: self.send_message({**entry, "QueueUrl": url}), is_partial)

    def receive_message(self, params: Params) -> Answer:
        """Waits only where the clock can: under a clock that a test moves, a long poll answers at once."""
        queue = self.queue(params["QueueUrl"])
        limit = params.get("MaxNumberOfMessages", 1)
        if not 1 <= limit <= MAX_RECEIVED:
            raise checks.invalid(
                f"Value {limit} for parameter MaxNumberOfMessages is invalid. Reason: Must be 1 to 10"
            )
        visibility = checks.bounded(params, "VisibilityTimeout", MAX_VISIBILITY_SECONDS)
        wait = checks.bounded(params, "WaitTimeSeconds", 20)
        self._wait_for(queue, queue.settings.wait_seconds if wait is None else wait)
        received = queue.receive(limit, visibility)
        return {"Messages": [_shown(one, params) for one in received]} if received else {}

    def delete_message(self, params: Params) -> Answer:
        self.queue(params["QueueUrl"]).delete(params["ReceiptHandle"])
        return {}

    def change_message_visibility(self, params: Params) -> Answer:
        queue = self.queue(params["QueueUrl"])
        seconds = checks.bounded(params, "VisibilityTimeout", MAX_VISIBILITY_SECONDS)
        queue.change_visibility(params["ReceiptHandle"], seconds or 0)
        return {}

    def change_message_visibility_batch(self, params: Params) -> Answer:
        entries, url = params["Entries"], params["QueueUrl"]
        batch.check(entries)
        is_partial = self._region.switches.is_partial("sqs", "ChangeMessageVisibilityBatch")
        return batch.run(
            entries, lambda entry: self.change_message_visibility({**entry, "QueueUrl": url}), is_partial
        )

    def start_message_move_task(self, params: Params) -> Answer:
        return self._move_tasks.start(params)

    def list_message_move_tasks(self, params: Params) -> Answer:
        return self._move_tasks.list(params)

    def cancel_message_move_task(self, params: Params) -> Answer:
        return self._move_tasks.cancel(params)

    def next_due_ms(self) -> int | None:
        """When a message next becomes claimable by itself, or a move task goes on; epoch milliseconds."""
        times = [self._move_tasks.next_due_ms(), *(queue.next_due_ms() for queue in self.queues.values())]
        return min((time for time in times if time is not None), default=None)

    def _wait_for(self, queue: Queue, seconds: int) -> None:
        deadline = self._region.now_ms() + seconds * MILLISECONDS
        while not queue.has_claimable() and (left := deadline - self._region.now_ms()) > 0:
            times = (queue.next_due_ms(), self._region.next_due_ms())
            due = min((time for time in times if time is not None), default=None)
            soonest = left if due is None else min(left, max(0, due - self._region.now_ms()))
            if not self._region.clock.wait(self._region.changed, soonest / MILLISECONDS):
                return

    def _attributes(self, queue: Queue) -> dict[str, str]:
        visible, in_flight, delayed = queue.counts()
        created = str(queue.created_ms // MILLISECONDS)
        return {
            **queue.settings.shown(),
            "QueueArn": queue.arn,
            "CreatedTimestamp": created,
            "LastModifiedTimestamp": created,
            "ApproximateNumberOfMessages": str(visible),
            "ApproximateNumberOfMessagesNotVisible": str(in_flight),
            "ApproximateNumberOfMessagesDelayed": str(delayed),
        }

    def _check_target(self, settings: Settings) -> None:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html"""
        if settings.redrive is None:
            return
        target = self.queues.get(settings.redrive.target_arn.split(":")[-1])
        if target is None:
            raise checks.invalid(
                "Value for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist"
            )
        if target.settings.is_fifo != settings.is_fifo:
            raise checks.invalid(
                "Value for parameter RedrivePolicy is invalid. Reason: Dead-letter queue must be of the same "
                "type as the source"
            )

    def _may_send(self, queue: Queue, topic_arn: str) -> bool:
        """https://docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html"""
        context = {
            "aws:SourceArn": topic_arn,
            "aws:SourceAccount": self._region.account,
            "aws:SecureTransport": "true",
        }
        return queue.settings.policy.allows("sns.amazonaws.com", "sqs:SendMessage", queue.arn, context)


def _shown(received: Received, params: Params) -> Answer:
    message = received.message
    answer: Answer = {
        "MessageId": message.id,
        "ReceiptHandle": received.handle,
        "MD5OfBody": messages.md5(message.body),
        "Body": message.body,
    }
    names = params.get("MessageSystemAttributeNames") or params.get("AttributeNames") or []
    system = _chosen(received.system_attributes(), names)
    attributes = _chosen(message.attributes, params.get("MessageAttributeNames") or [])
    if system:
        answer["Attributes"] = system
    if attributes:
        answer["MessageAttributes"] = attributes
        answer["MD5OfMessageAttributes"] = messages.attributes_md5(attributes)
    return answer


def _chosen(attributes: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """By name, by prefix (`trace.*`), or all (`All` or `.*`)."""
    if "All" in names or ".*" in names:
        return dict(attributes)
    prefixes = tuple(name[:-2] for name in names if name.endswith(".*"))
    return {name: value for name, value in attributes.items() if name in names or name.startswith(prefixes)}
