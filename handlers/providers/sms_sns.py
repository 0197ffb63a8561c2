"""SMS through Amazon SNS."""

from dataclasses import dataclass
from typing import Any

from ..postroom.aws.deployment import Deployment
from ..postroom.errors import NotActed, Permanent, Transient

_NEVER = frozenset({"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "OptedOut"})
"""docs.aws.amazon.com/sns/latest/api/API_Publish.html#API_Publish_Errors"""


@dataclass(frozen=True, slots=True)
class SnsPhones:
    client: Any

    def text(self, number: str, message: str) -> str:
        from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError

        kind = {"AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"}}
        try:
            answer = self.client.publish(PhoneNumber=number, Message=message, MessageAttributes=kind)
        except ClientError as error:
            raise _refused(error.response) from None
        except (ConnectTimeoutError, EndpointConnectionError) as error:
            raise NotActed(f"the SMS service cannot be reached: {type(error).__name__}") from error
        return str(answer["MessageId"])


def from_deployment(deployment: Deployment) -> SnsPhones:
    # the SDK sends again by itself what may have been sent: that is for the subscriber's author to decide
    return SnsPhones(deployment.without_resend().client("sns"))


def _refused(response: Any) -> Exception:
    """Its words may name the number, so only the code stays."""
    code, status = response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]
    words = f"the SMS service answered {code}"
    if code in _NEVER:
        return Permanent(words)
    # a refusal is a clear word, an inner error is none
    return NotActed(words) if status < 500 else Transient(words)
