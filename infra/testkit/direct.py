"""Clients that ask the model itself, without wire and gate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from infra.local.aws import LocalAws

if TYPE_CHECKING:
    from boto3.session import Session


class Direct:
    """A session whose clients ask the model itself: to set the scene, and to look at it after."""

    def __init__(self, aws: LocalAws) -> None:
        self._aws = aws

    def client(self, service: str, **_: Any) -> Any:
        return _DirectClient(self._aws, service)

    @property
    def _session(self) -> "Direct":
        # a stack takes the signatures off its clients' requests; there are neither here
        return self

    def set_default_client_config(self, _config: Any) -> None:
        return None

    def as_session(self) -> "Session":
        return cast("Session", self)


@dataclass(frozen=True)
class _DirectClient:
    aws: LocalAws
    service: str

    def __getattr__(self, name: str) -> Any:
        operation = "".join(part.capitalize() for part in name.split("_"))
        return lambda **params: self.aws.request(self.service, operation, params)
