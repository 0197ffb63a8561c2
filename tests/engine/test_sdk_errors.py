"""What the adapters say when AWS gives no answer: the SDK has seven words for it, in two families."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from botocore import exceptions as sdk

from handlers.postroom.aws.bulk_queue import SqsBulkQueue
from handlers.postroom.aws.dead_letters import SqsDeadLetters
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.queue import SqsQueue, Visibility
from handlers.postroom.aws.subscriber_queue import SqsSubscriberQueue
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.topic import SnsTopic
from handlers.postroom.errors import Transient
from handlers.postroom.relay import Entry
from handlers.postroom.storage import Key, Put, Update
from handlers.providers.timer_aws import AwsTimer
from tests.engine.conftest import NOW, new_session

KEY, OTHER = Key("shop", "order-1", "entity"), Key("jobs", "order-1-paid", "receipts")
NO_ANSWER: Sequence[Exception] = [
    sdk.EndpointConnectionError(endpoint_url="x"),
    sdk.ConnectTimeoutError(endpoint_url="x"),
    sdk.ProxyConnectionError(proxy_url="x"),
    sdk.SSLError(endpoint_url="x", error=OSError("handshake")),
    sdk.ReadTimeoutError(endpoint_url="x"),
    sdk.ConnectionClosedError(endpoint_url="x"),
    sdk.HTTPClientError(error="anything else"),
]
"""What botocore raises of a request that it sends: `URLLib3Session.send` in botocore/httpsession.py."""

ASKED: dict[str, Callable[[Deployment], object]] = {
    "read one": lambda around: DynamoStore(around).read([KEY]),
    "read many": lambda around: DynamoStore(around).read([KEY, OTHER]),
    "write": lambda around: DynamoStore(around).write(Put(KEY, {})),
    "change": lambda around: DynamoStore(around).change(Update(KEY, set={"paid": True})),
    "transact": lambda around: DynamoStore(around).transact([Put(KEY, {}), Put(OTHER, {})]),
    "mark published": lambda around: DynamoStore(around).mark_published([KEY]),
    "outstanding": lambda around: DynamoStore(around).outstanding("0", 1, 10),
    "publish": lambda around: SnsTopic(around).publish([Entry("{}", "order.paid", "publication-1")]),
    "send to the bulk lane": lambda around: SqsBulkQueue(around, "https://queue").send([]),
    "send to a subscriber": lambda around: SqsSubscriberQueue(around, "receipts").send("{}", {}),
    "count dead letters": lambda around: SqsDeadLetters(around, "receipts").depth(),
    "send again": lambda around: SqsQueue(around).send_again("{}", "wallet-1", "publication-1"),
    "set by delay": lambda around: AwsTimer(around).set("one", NOW, "{}"),
    "set by schedule": lambda around: AwsTimer(around).set("one", NOW + timedelta(days=1), "{}"),
}
ASKED_IN_VAIN: dict[str, Callable[[Deployment], object]] = {
    "visibility": lambda around: SqsQueue(around).change_visibility([Visibility("handle", 4)]),
    "clear a timer": lambda around: AwsTimer(around).clear("one"),
}
"""What must decide over nothing, and so raises nothing."""

SETTINGS = (
    *("SHOP_TABLE", "JOBS_TABLE", "TOPIC_ARN", "QUEUE_URL", "QUEUE_PREFIX", "SCHEDULE_GROUP"),
    *("TIMED_QUEUE_URL", "TIMED_QUEUE_ARN", "SCHEDULE_ROLE_ARN", "SCHEDULE_FAILURES_ARN"),
)


@dataclass
class Outage:
    """Every request of the deployment's clients ends in `error`."""

    error: Exception = field(default_factory=Exception)
    requests: int = 0

    def __post_init__(self) -> None:
        session = new_session()
        session.events.register("before-send", self._fail)
        environ = dict.fromkeys(SETTINGS, "some")
        self.deployment = Deployment(environ, session, clock=NOW.timestamp).without_resend()

    def _fail(self, **_: Any) -> None:
        self.requests += 1
        raise self.error


@pytest.fixture(scope="module")
def outage() -> Outage:
    # the clients are what takes time
    return Outage()


@pytest.mark.parametrize("error", NO_ANSWER, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_no_answer_is_a_failure_that_may_pass(
    outage: Outage, ask: Callable[[Deployment], object], error: Exception
) -> None:
    outage.error = error

    with pytest.raises(Transient):
        ask(outage.deployment)


@pytest.mark.parametrize("error", NO_ANSWER, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("ask", ASKED_IN_VAIN.values(), ids=ASKED_IN_VAIN)
def test_no_answer_to_a_courtesy_is_nobodys_failure(
    outage: Outage, ask: Callable[[Deployment], object], error: Exception
) -> None:
    outage.error, outage.requests = error, 0

    ask(outage.deployment)

    assert outage.requests == 1


def test_the_sdk_has_no_other_word_for_it() -> None:
    told = {type(error) for error in NO_ANSWER}
    families = (sdk.ConnectionError, sdk.HTTPClientError)
    known = {each for each in vars(sdk).values() if isinstance(each, type) and issubclass(each, families)}

    # the first is never raised itself, the last while a body is read
    assert known - told == {sdk.ConnectionError, sdk.ResponseStreamingError}
