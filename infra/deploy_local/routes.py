"""The HTTP API's routes, read from the template and added to an emulator that does not read them itself.

SAM puts an HttpApi's routes into the OpenAPI document that is the API's `Body`. API Gateway imports it.
MiniStack 1.5.33 makes the API and leaves the document aside, so the same routes are made by API calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_INVOKED = re.compile(r"/functions/\$\{(\w+)(?:\.Arn)?\}/invocations")


@dataclass(frozen=True, slots=True)
class Route:
    """`function` is the logical id of what is called: a function, or an alias of one."""

    key: str
    function: str
    payload: str
    authorized: bool


def routes(template: Mapping[str, Any]) -> Sequence[Route]:
    """The routes of the one HTTP API in an expanded template. Raises `ValueError` when there are several."""
    bodies = [
        resource["Properties"]["Body"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::ApiGatewayV2::Api"
    ]
    (body,) = bodies
    return list(_routes(body))


def _routes(body: Mapping[str, Any]) -> Iterator[Route]:
    for path, operations in body["paths"].items():
        for method, operation in operations.items():
            if integration := operation.get("x-amazon-apigateway-integration"):
                yield Route(
                    f"{method.upper()} {path}",
                    _function(integration["uri"]["Fn::Sub"]),
                    str(integration["payloadFormatVersion"]),
                    bool(operation.get("security")),
                )


def _function(uri: str) -> str:
    found = _INVOKED.search(uri)
    if found is None:
        raise ValueError(f"not an integration with a function: {uri}")
    return found[1]


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whose tokens are accepted, and for whom they must be."""

    url: str
    audience: str


@dataclass(frozen=True)
class Gateway:
    """One HTTP API of an `apigatewayv2` client."""

    client: Any
    api: str

    def add(self, wanted: Sequence[Route], issuer: Issuer, arns: Mapping[str, str]) -> int:
        """Add what is missing of `wanted`; `arns` are of functions and aliases, by logical id.

        Returns how many were added.
        """
        there = {route["RouteKey"] for route in self.client.get_routes(ApiId=self.api)["Items"]}
        missing = [route for route in wanted if route.key not in there]
        if not missing:
            return 0
        authorizer = self._authorizer(issuer)
        for route in missing:
            self._add(route, arns[route.function], authorizer)
        return len(missing)

    def _add(self, route: Route, arn: str, authorizer: str) -> None:
        integration = self.client.create_integration(
            ApiId=self.api,
            IntegrationType="AWS_PROXY",
            IntegrationUri=arn,
            PayloadFormatVersion=route.payload,
        )["IntegrationId"]
        protection = {"AuthorizationType": "JWT", "AuthorizerId": authorizer} if route.authorized else {}
        self.client.create_route(
            ApiId=self.api, RouteKey=route.key, Target=f"integrations/{integration}", **protection
        )

    def _authorizer(self, issuer: Issuer) -> str:
        for authorizer in self.client.get_authorizers(ApiId=self.api)["Items"]:
            return str(authorizer["AuthorizerId"])
        made = self.client.create_authorizer(
            ApiId=self.api,
            Name="Jwt",
            AuthorizerType="JWT",
            IdentitySource=["$request.header.Authorization"],
            JwtConfiguration={"Issuer": issuer.url, "Audience": [issuer.audience]},
        )
        return str(made["AuthorizerId"])
