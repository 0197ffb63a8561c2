"""SMS through SNS: what may have been sent is told from what certainly was not."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.errors import NotActed, Permanent, Transient
from handlers.postroom.retries import may_have_acted
from handlers.providers import sms_sns
from handlers.providers.sms_sns import SnsPhones
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock

NUMBER = "+2348012345678"


@dataclass
class Client:
    """Answers each call with the error."""

    error: Exception
    calls: list[dict[str, Any]] = field(default_factory=list)

    def publish(self, **request: Any) -> Any:
        self.calls.append(request)
        raise self.error


def answered(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Publish")


def failure_of(error: Exception) -> BaseException:
    with pytest.raises(Exception) as caught:
        SnsPhones(Client(error)).text(NUMBER, "hello")
    return caught.value


def test_a_text_reaches_its_phone_and_each_call_is_one() -> None:
    aws = LocalAws(ManualClock())
    phones = sms_sns.from_deployment(Deployment({}, aws.session()))

    assert phones.text(NUMBER, "hello") != phones.text(NUMBER, "hello")

    assert [(text.number, text.message) for text in aws.sns.phones.texts] == [(NUMBER, "hello")] * 2


def test_the_sdk_never_sends_again_by_itself() -> None:
    aws = LocalAws(ManualClock())
    aws.sns.phones.is_down = lambda: True
    phones = sms_sns.from_deployment(Deployment({}, aws.session()))

    with pytest.raises(Transient):
        phones.text(NUMBER, "hello")

    assert len(aws.calls) == 1


@pytest.mark.parametrize("code", ["InvalidParameter", "OptedOut"])
def test_a_number_that_takes_none_is_permanent_and_not_told(code: str) -> None:
    failure = failure_of(answered(code, 400))

    assert isinstance(failure, Permanent)
    assert NUMBER not in str(failure)


@pytest.mark.parametrize("error", [answered("Throttling", 400), EndpointConnectionError(endpoint_url="x")])
def test_what_was_certainly_not_sent_may_be_sent_again(error: Exception) -> None:
    assert isinstance(failure_of(error), NotActed)


@pytest.mark.parametrize("error", [answered("InternalError", 500), ReadTimeoutError(endpoint_url="x")])
def test_what_may_have_been_sent_is_in_doubt(error: Exception) -> None:
    assert may_have_acted(failure_of(error))
