"""One stack: deployed and deleted with the SAM CLI, and what CloudFormation tells of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy_local.ministack import REGION, MiniStack
from infra.processes import Shell

CONFIG = "dev"
"""Of the environments in samconfig.toml, the one that is deployed with other addresses in it."""


@dataclass(frozen=True)
class Stack:
    """The stack `name` of the built template in `directory`."""

    name: str
    ministack: MiniStack
    sam: Path
    directory: Path
    log: Path

    def deploy(self, parameters: Mapping[str, str]) -> None:
        """Create or update it. Raises `CommandFailed`."""
        given = [f"{name}={value}" for name, value in parameters.items()]
        self._sam(
            *("deploy", "--config-env", CONFIG, "--stack-name", self.name, "--region", REGION),
            *("--no-confirm-changeset", "--parameter-overrides", *given),
        )

    def delete(self) -> None:
        """Raises `CommandFailed`."""
        self._sam("delete", "--stack-name", self.name, "--region", REGION, "--no-prompts")

    def outputs(self) -> Mapping[str, str]:
        listed = self._description()["Outputs"]
        return {output["OutputKey"]: output["OutputValue"] for output in listed}

    def resources(self) -> Mapping[str, str]:
        """Physical ids by logical id."""
        pages = self._cloudformation.get_paginator("list_stack_resources").paginate(StackName=self.name)
        found = [resource for page in pages for resource in page["StackResourceSummaries"]]
        return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in found}

    def exists(self) -> bool:
        try:
            return bool(self._description()["StackStatus"] != "DELETE_COMPLETE")
        except ClientError:
            return False

    def _description(self) -> Any:
        (description,) = self._cloudformation.describe_stacks(StackName=self.name)["Stacks"]
        return description

    @property
    def _cloudformation(self) -> Any:
        return self.ministack.client("cloudformation")

    def _sam(self, *arguments: str) -> None:
        # Not with the caller's own credentials: nothing here may reach AWS.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environ = {**kept, **self.ministack.environ, "SAM_CLI_TELEMETRY": "0"}
        Shell(self.directory, environ, self.log).run(str(self.sam), *arguments)
