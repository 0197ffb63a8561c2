"""The deployed API, and callers of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.deploy_local import mappings
from infra.deploy_local.ministack import REGION, MiniStack
from infra.deploy_local.routes import Gateway, Issuer, routes
from infra.deploy_local.stack import Stack
from infra.deploy_local.users import Users
from infra.expand import expand
from infra.local.client import Client


@dataclass(frozen=True)
class Front:
    """The HTTP API of a stack, which was deployed from the template at `template`."""

    ministack: MiniStack
    stack: Stack
    template: Path

    def mend_mappings(self) -> int:
        """Returns how many were told again."""
        return mappings.mend(self.ministack.client("lambda"))

    def add_routes(self) -> int:
        """Add those of the template that are missing. Returns how many there were."""
        users = self._users()
        gateway = Gateway(self.ministack.client("apigatewayv2"), self._api)
        wanted = routes(expand(self.template, region=REGION))
        return gateway.add(wanted, Issuer(users.issuer, users.app), self._arns())

    def client(self, email: str) -> Client:
        """Of a new user, signed in."""
        return self.client_with(self._users().token(email))

    def client_with(self, token: str) -> Client:
        # A path, because not every resolver knows what ends in .localhost.
        return Client(f"{self.ministack.url}/_aws/execute-api/{self._api}/$default", token)

    @property
    def _api(self) -> str:
        return self.stack.resources()["Api"]

    def _users(self) -> Users:
        resources = self.stack.resources()
        cognito = self.ministack.client("cognito-idp")
        return Users(cognito, resources["Users"], resources["UsersClient"])

    def _arns(self) -> Mapping[str, str]:
        """Of functions and aliases. An alias is listed by its ARN, a function by its name."""
        client = self.ministack.client("lambda")
        pages = client.get_paginator("list_functions").paginate()
        by_name = {each["FunctionName"]: each["FunctionArn"] for page in pages for each in page["Functions"]}
        return {
            logical_id: by_name.get(physical_id, physical_id)
            for logical_id, physical_id in self.stack.resources().items()
        }
