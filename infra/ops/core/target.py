"""The stack that is worked on: where it is, what it is made of, and how to reach it."""

import getpass
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import boto3

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.discovery import job_types
from handlers.postroom.jobs import JobType
from infra.ops.core.errors import NoStack
from infra.ops.core.imported import imported

LOCAL_URL = "http://127.0.0.1:8700"
"""Where `make up` listens."""
LISTING = "/_control/stack"
_TIMEOUT_SECONDS = 5


@dataclass(frozen=True)
class Resource:
    """One resource of a stack, as CloudFormation tells it."""

    logical_id: str
    type: str
    physical_id: str


class LocalSession(boto3.Session):
    """A session whose clients all go to one address, with credentials of nobody."""

    def __init__(self, url: str, region: str) -> None:
        super().__init__(aws_access_key_id="local", aws_secret_access_key="local", region_name=region)  # noqa: S106
        self._url = url

    def client(self, *names: Any, **more: Any) -> Any:
        make: Any = super().client
        return make(*names, **{"endpoint_url": self._url, **more})


@dataclass(frozen=True)
class Target:
    """A stack. `clock` gives epoch seconds; `sleep` waits so many seconds; `by` is who works on it."""

    name: str
    session: boto3.Session
    resources: Sequence[Resource]
    package: str = "handlers"
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    by: str = field(default_factory=getpass.getuser)
    clients: dict[str, Any] = field(default_factory=dict, repr=False)

    def client(self, service: str) -> Any:
        if service not in self.clients:
            self.clients[service] = self.session.client(service)  # type: ignore[call-overload]
        return self.clients[service]

    def physical_id(self, logical_id: str) -> str:
        """Raises `NoStack` when the stack has no such resource."""
        for resource in self.resources:
            if resource.logical_id == logical_id:
                return resource.physical_id
        raise NoStack(f"the stack {self.name} has no {logical_id}: is it one of Postroom's?")

    def of_type(self, type_name: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.type == type_name]

    @cached_property
    def job_types(self) -> Sequence[JobType[Any]]:
        """Every subscriber's, as the code here declares them. Raises `Refused` if it cannot be imported."""
        with imported():
            return job_types(self.package)

    def job_type(self, subscriber: str) -> JobType[Any]:
        """Raises `NoStack` when this code has no such subscriber."""
        for each in self.job_types:
            if each.subscriber == subscriber:
                return each
        raise NoStack(f"the stack has a queue for {subscriber}, but the code here has no such subscriber")

    @cached_property
    def deployment(self) -> Deployment:
        """Surroundings like a function's, for the engine's own code."""
        environ = {
            "SHOP_TABLE": self.physical_id("ShopTable"),
            "JOBS_TABLE": self.physical_id("JobsTable"),
            "QUEUE_PREFIX": f"{self.name}-",
        }
        return Deployment(environ, self.session, clock=self.clock, sleep=self.sleep)

    @cached_property
    def store(self) -> DynamoStore:
        return DynamoStore(self.deployment)


def local(url: str = LOCAL_URL) -> Target:
    """The stack that runs on this machine. Raises `NoStack` when none answers."""
    listing = _listing(url)
    resources = [Resource(one["logicalId"], one["type"], one["physicalId"]) for one in listing["resources"]]
    return Target(listing["name"], LocalSession(listing["aws"], listing["region"]), resources)


def on_aws(name: str, session: boto3.Session) -> Target:
    """A deployed stack, found through CloudFormation. Raises `botocore` errors as they come.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackResources.html
    """
    pages = session.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=name)
    resources = [
        Resource(one["LogicalResourceId"], one["ResourceType"], one.get("PhysicalResourceId", ""))
        for page in pages
        for one in page["StackResourceSummaries"]
    ]
    return Target(name, session, resources)


def _listing(url: str) -> Mapping[str, Any]:
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}{LISTING}", timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
            listing: Mapping[str, Any] = json.load(answer)
            return listing
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise NoStack(
            f"nothing of ours answers at {url} ({error}). Start it with `make up`, or name a deployed stack "
            "with --stack"
        ) from error
