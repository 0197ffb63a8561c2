"""One suite, several backends: the same promises, whoever keeps them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract import ministack_differs
from tests.contract.backends import BACKENDS, Backend, Model
from tests.contract.builders import create_queue, create_table


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "moto_differs(reason, doc, of, run): moto does not keep this promise of AWS's documentation; "
        "should it ever, the test says so",
    )


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    difference = request.node.get_closest_marker("moto_differs")
    if request.param == "moto" and difference is not None:
        _expect_difference(request, **difference.kwargs)
    if request.param == "ministack" and (known := ministack_differs.difference(request)):
        request.applymarker(pytest.mark.xfail(reason=f"MiniStack {known.reason}", strict=True))
    with BACKENDS[request.param]() as backend:
        yield backend


def _expect_difference(
    request: pytest.FixtureRequest, reason: str, doc: str, of: str = "", run: bool = True
) -> None:
    """The test must fail; where only some parameters differ, `of` is in the ids of those that do."""
    if of in request.node.name:
        request.applymarker(pytest.mark.xfail(reason=f"{reason} ({doc})", strict=True, run=run))


@pytest.fixture
def model() -> Model:
    """The model alone, for what the others have no notion of."""
    return Model()


@pytest.fixture
def sqs(backend: Backend) -> Any:
    return backend.client("sqs")


@pytest.fixture
def sns(backend: Backend) -> Any:
    return backend.client("sns")


@pytest.fixture
def dynamodb(backend: Backend) -> Any:
    return backend.client("dynamodb")


@pytest.fixture
def streams(backend: Backend) -> Any:
    return backend.client("dynamodbstreams")


@pytest.fixture
def s3(backend: Backend) -> Any:
    return backend.client("s3")


@pytest.fixture
def queue(sqs: Any) -> str:
    """The URL of a queue with a visibility timeout of 30 s."""
    return create_queue(sqs, "work")


@pytest.fixture
def table(dynamodb: Any) -> str:
    """The name of a table as `create_table` makes it."""
    name: str = create_table(dynamodb)["TableName"]
    return name


@pytest.fixture
def receive(sqs: Any, queue: str) -> Callable[..., list[dict[str, Any]]]:
    """Receive up to ten messages of the queue, with all they carry."""

    def receive(**more: Any) -> list[dict[str, Any]]:
        request = {
            "MaxNumberOfMessages": 10,
            "MessageSystemAttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
            **more,
        }
        messages: list[dict[str, Any]] = sqs.receive_message(QueueUrl=queue, **request).get("Messages", [])
        return messages

    return receive
