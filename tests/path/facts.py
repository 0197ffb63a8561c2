"""What has become of orders: read from the model itself, so that looking costs no call and no time."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.storage import Key
from handlers.shop import reconcile, rollup
from handlers.shop.loyalty import points_key
from infra.local.aws.meter import Call
from infra.local.functions import Invocation
from infra.local.http_messages import HttpAnswer
from infra.local.providers.cards import CardGateway
from infra.local.stack import Stack
from tests.path.clients import PluggedAws
from tests.path.listener import Listener
from tests.path.mailer import Mailer
from tests.path.names import resource_of

MARKS = frozenset({reconcile.MARK, rollup.MARK})
"""How far the schedules have come: no news to anybody."""


class Facts:
    """Of one shop. Times are in seconds since it opened."""

    aws: PluggedAws
    stack: Stack
    opened: float
    mailer: Mailer
    gateway: CardGateway
    listener: Listener
    invocations: list[Invocation]
    own: Deployment

    def client(self, service: str) -> Any:
        """A boto3 client of the account, for what a test does itself."""
        return self.own.client(service)

    def get(self, path: str, caller: str = "ada", **headers: str) -> HttpAnswer:
        """Ask the API; `if_none_match` is `If-None-Match`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.stack.call("GET", path, named, subject=caller)

    def shop_items(self, prefix: str = "") -> list[dict[str, Any]]:
        return [item for item in self._items("ShopTable") if item["pk"].startswith(prefix)]

    def jobs(self, event_id: str) -> dict[str, dict[str, Any]]:
        """Rows of the Jobs table by subscriber."""
        return {row["sk"]: row for row in self._items("JobsTable") if row["pk"] == event_id}

    def status(self, event_id: str, caller: str = "ada") -> dict[str, Any]:
        """What the API says of each job, by subscriber."""
        answer = self.get(f"/jobs/{event_id}", caller)
        assert answer.status == 200, answer.text
        return {job["id"].rpartition(":")[2]: job for job in answer.json["jobs"]}

    def states(self, event_id: str, caller: str = "ada") -> dict[str, str]:
        return {name: job["state"] for name, job in self.status(event_id, caller).items()}

    def failures(self, event_id: str, subscriber: str) -> list[float]:
        """When each recorded attempt failed."""
        ledger = self.jobs(event_id)[subscriber].get("failures", [])
        return [round(entry["at"] / 1000 - self.opened, 3) for entry in ledger]

    def ended_at(self, event_id: str, subscriber: str) -> float:
        ended_ms: int = self.jobs(event_id)[subscriber]["endedAt"]
        return round(ended_ms / 1000 - self.opened, 3)

    def outcomes(self, subscriber: str) -> list[str]:
        return [outcome for name, outcome, _ in self.listener.outcomes if name == subscriber]

    def points(self, caller: str = "ada") -> int:
        pk = points_key(caller, "").pk
        return sum(entry["points"] for entry in self.shop_items(pk) if entry["pk"] == pk)

    def invoices(self) -> list[str]:
        kept = self.aws.s3.buckets[self.stack.ref("InvoiceBucket")]
        return sorted(name for name in kept if name.startswith("invoices/"))

    def picks(self) -> list[dict[str, Any]]:
        return [item for item in self.shop_items() if item["sk"] == "pick"]

    def waiting(self, queue: str) -> int:
        """Messages in a queue, in flight or not."""
        return len(self.aws.sqs.queue(self.stack.ref(queue)).messages)

    def dead_letters(self, subscriber: str) -> list[dict[str, Any]]:
        """A look into a dead-letter queue as an operator's `ReceiveMessage` gives it."""
        answer = self.client("sqs").receive_message(
            QueueUrl=self.stack.ref(resource_of(subscriber, "DeadLetterQueue")),
            MaxNumberOfMessages=10,
            VisibilityTimeout=0,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return [dict(message) for message in answer.get("Messages", [])]

    def runs(self, function: str) -> list[Invocation]:
        return [each for each in self.invocations if each.function == function]

    def handed_out(self, function: str) -> list[tuple[float, list[int]]]:
        """When a queue's function was called, and the receive counts of the batch."""
        return [
            (
                round(run.started - self.opened, 3),
                [int(record["attributes"]["ApproximateReceiveCount"]) for record in run.event["Records"]],
            )
            for run in self.runs(function)
        ]

    def everything(self) -> dict[str, Any]:
        """All that the outside world could notice: both tables, files, mails, charges."""
        return {
            "shop": sorted((each for each in self.shop_items() if _key(each) not in MARKS), key=_by_key),
            "jobs": sorted(self._items("JobsTable"), key=_by_key),
            "files": {name: dict(bucket) for name, bucket in self.aws.s3.buckets.items()},
            "mails": list(self.mailer.sent),
            "charges": self.gateway.charges,
        }

    def _items(self, table: str) -> list[dict[str, Any]]:
        return [from_attributes(item) for item in self.aws.dynamodb.table(self.stack.ref(table)).items]


def operations(calls: Collection[Call]) -> dict[str, int]:
    """How often each operation was called."""
    return dict(Counter(call.operation for call in calls))


def _key(item: Mapping[str, Any]) -> Key:
    return Key("shop", item["pk"], item["sk"])


def _by_key(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["pk"], item["sk"]
