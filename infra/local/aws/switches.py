"""AWS's freedoms and failures, off until a test or a demonstration turns them on."""

from collections import Counter

from infra.local.aws.errors import AwsError

THROTTLED = {
    "dynamodb": ("ProvisionedThroughputExceededException", 400),
    "dynamodbstreams": ("LimitExceededException", 400),
    "sqs": ("RequestThrottled", 403),
    "sns": ("Throttling", 400),
    "s3": ("SlowDown", 503),
    "scheduler": ("ThrottlingException", 429),
}


class Switches:
    """What the services may do to their callers.

    `duplicate_delivery`: chance (0 to 1) that a message received from a standard queue leaves a second copy,
    which deleting the first does not remove.
    `reorder`: standard queues hand out waiting messages in a random order.
    `mixed_groups`: an event source mapping's batch of a FIFO queue may hold several message groups
    (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html); otherwise it holds one.
    `short_receives`: a receive may return fewer messages than there are.
    `stale_seconds`: how long reads that are not strongly consistent show an item as it was before a write.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html and
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html
    """

    def __init__(self) -> None:
        self.duplicate_delivery = 0.0
        self.reorder = False
        self.mixed_groups = False
        self.short_receives = False
        self.stale_seconds = 0.0
        self._throttles: Counter[tuple[str, str]] = Counter()
        self._partials: Counter[tuple[str, str]] = Counter()

    def throttle(self, service: str, operation: str, calls: int = 1) -> None:
        """Refuse the next calls of an operation as AWS does when it throttles.

        The Scheduler's operation "Invoke" is what its schedules' targets are asked to do.
        """
        self._throttles[service, operation] += calls

    def partial(self, service: str, operation: str, calls: int = 1) -> None:
        """Let the next calls of a batch operation succeed in part: every second entry comes back undone.

        A batch of one comes back undone entirely. For TransactWriteItems, which knows no part: cancelled by a
        conflict on its first item.
        """
        self._partials[service, operation] += calls

    def refuse_if_throttled(self, service: str, operation: str) -> None:
        """Raise the service's throttling error when one is due."""
        if self._spend(self._throttles, service, operation):
            code, status = THROTTLED[service]
            raise AwsError(code, "Rate exceeded", status)

    def is_throttled(self, service: str, operation: str) -> bool:
        """Whether the next call of an operation will be refused."""
        return self._throttles[service, operation] > 0

    def is_partial(self, service: str, operation: str) -> bool:
        """Whether this call is to succeed in part."""
        return self._spend(self._partials, service, operation)

    @staticmethod
    def _spend(due: Counter[tuple[str, str]], service: str, operation: str) -> bool:
        if not due[service, operation]:
            return False
        due[service, operation] -= 1
        return True


def is_left_undone(position: int, count: int) -> bool:
    """Which entries of a partial batch are left undone: every second one, or the only one."""
    return position % 2 == 1 or count == 1
