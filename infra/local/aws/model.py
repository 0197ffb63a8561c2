"""The AWS services that the product uses, in memory: one account, one region, one lock."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from botocore import xform_name

from infra.local.aws import required
from infra.local.aws.clock import MILLISECONDS, Clock
from infra.local.aws.dynamodb import DynamoDb, DynamoDbStreams
from infra.local.aws.errors import AwsError
from infra.local.aws.meter import Call, Meter, Usage
from infra.local.aws.operations import OPERATIONS
from infra.local.aws.region import Region
from infra.local.aws.s3 import S3
from infra.local.aws.scheduler import Scheduler
from infra.local.aws.sns import Sns
from infra.local.aws.sqs import Sqs
from infra.local.aws.switches import Switches

if TYPE_CHECKING:
    from boto3.session import Session

_NAMES = {
    (service, operation): xform_name(operation)
    for service, all_of in OPERATIONS.items()
    for operation in all_of
}


class LocalAws:
    """The services, by name.

    `session()` gives ordinary boto3 clients; `request` is what they end in. Use from Python, under the lock
    `region.changed`, skips wire, meter and throttles: that is how event source mappings, which are AWS's own
    and not a caller's, take from queues and streams.
    """

    def __init__(
        self, clock: Clock, seed: int = 0, account: str = "123456789012", region: str = "eu-west-1"
    ) -> None:
        self.region = Region(clock, seed, account, region)
        self.sqs = Sqs(self.region)
        self.sns = Sns(self.region, self.sqs)
        self.dynamodb = DynamoDb(self.region)
        self.dynamodbstreams = DynamoDbStreams(self.region, self.dynamodb)
        self.s3 = S3(self.region)
        self.scheduler = Scheduler(self.region, self.sqs)
        self._meter = Meter()

    @property
    def calls(self) -> list[Call]:
        """Every request so far, oldest first."""
        return self._meter.calls

    @property
    def switches(self) -> Switches:
        """AWS's freedoms and failures, to turn on and off."""
        return self.region.switches

    def metered(self) -> AbstractContextManager[list[Call]]:
        """Collect the requests made within a `with` block, whichever thread makes them."""
        return self._meter.window()

    def session(self) -> "Session":
        """A boto3 session whose clients are answered by this model, in process."""
        from infra.local.aws.session import session

        return session(self)

    def next_due(self, recurring: bool = False) -> float | None:
        """When a message next becomes claimable or something else happens by itself; epoch seconds.

        Recurring schedules are never done, and count only if asked for.
        """
        with self.region.changed:
            self.region.catch_up()
            schedules = self.scheduler.next_due_ms() if recurring else self.scheduler.next_work_ms()
            times = [time for time in (self.sqs.next_due_ms(), schedules) if time is not None]
        return min(times) / MILLISECONDS if times else None

    def request(self, service: str, operation: str, params: Mapping[str, Any]) -> Any:
        """One request of a caller; raises AwsError."""
        name = _NAMES.get((service, operation))
        if name is None:
            raise AwsError("UnknownOperationException", f"{service} {operation} is not modelled")
        lacking = required.lacking(service, operation, params)
        with self.region.changed:
            usage = self.region.usage = Usage()
            error: str | None = None
            try:
                if lacking:
                    raise lacking
                self.switches.refuse_if_throttled(service, operation)
                return getattr(getattr(self, service), name)(params)
            except AwsError as refusal:
                error = refusal.code
                raise
            finally:
                at = self.region.clock.now()
                self._meter.record(Call(service, operation, usage.write, usage.read, at, error))
