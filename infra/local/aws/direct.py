"""Clients that ask the model itself, without wire and gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from infra.local.aws import LocalAws
from infra.local.aws.errors import AwsError

if TYPE_CHECKING:
    from boto3.session import Session


class Direct:
    """A session whose clients ask the model itself: to set the scene, and to look at it after."""

    def __init__(self, aws: LocalAws) -> None:
        self._aws = aws

    def client(self, service: str, **_: Any) -> Any:
        return DirectClient(self._aws, service)

    @property
    def _session(self) -> "Direct":
        # a stack takes the signatures off its clients' requests; there are neither here
        return self

    def set_default_client_config(self, _config: Any) -> None:
        return None

    def as_session(self) -> "Session":
        return cast("Session", self)


@dataclass(frozen=True)
class DirectClient:
    aws: LocalAws
    service: str

    def __getattr__(self, name: str) -> Any:
        operation = "".join(part.capitalize() for part in name.split("_"))
        return lambda **params: self._ask(operation, params)

    def _ask(self, operation: str, params: Mapping[str, Any]) -> Any:
        try:
            return self.aws.request(self.service, operation, params)
        except AwsError as error:
            answer: Any = {**error.fields, "Error": {"Code": error.code, "Message": error.message}}
            raise ClientError(answer, operation) from error
