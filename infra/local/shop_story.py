"""A story that is told of a running shop."""

from __future__ import annotations

from dataclasses import dataclass

from infra.local.client import Client
from infra.local.local_run import LocalRun
from infra.local.shop_facts import Facts
from infra.local.story import Telling

SOON_SECONDS = 15.0


@dataclass
class Story(Telling):
    """A running stack, somebody who buys there, and the console on which it is told."""

    run: LocalRun

    def __post_init__(self) -> None:
        self.facts = Facts(self.run)

    def client(self, caller: str) -> Client:
        return Client(self.run.urls.api, self.run.stack.token(caller))
