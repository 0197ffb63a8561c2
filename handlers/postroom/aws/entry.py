"""What an entry file exports as `handler`: callable by Lambda, and bindable to any other deployment."""

import random
import threading
from collections.abc import Callable
from typing import Any, Protocol

from .deployment import Deployment


class LambdaContext(Protocol):
    """The part of Lambda's context object that the engine uses.

    docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    @property
    def aws_request_id(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...


LambdaHandler = Callable[[Any, LambdaContext], Any]


class Entry:
    """A Lambda handler that is built on first use, from the deployment it runs in.

    `build` wires one function: it runs once per deployment, not once per call, so clients are kept between
    invocations and importing an entry file touches nothing. So a snapshot, which is taken after the import,
    holds no client, connection, credential, time or id.
    """

    def __init__(self, build: Callable[[Deployment], LambdaHandler]) -> None:
        self._build = build
        self._deployed: LambdaHandler | None = None
        self._once = threading.Lock()

    def __call__(self, event: Any, context: LambdaContext) -> Any:
        return self._in_process()(event, context)

    def _in_process(self) -> LambdaHandler:
        with self._once:
            if self._deployed is None:
                # Whoever starts from a snapshot has the generator of all who do, and with it their jitter:
                # docs.aws.amazon.com/lambda/latest/dg/snapstart-uniqueness.html
                random.seed()
                self._deployed = self.on(Deployment.from_process())
            return self._deployed

    def on(self, deployment: Deployment) -> LambdaHandler:
        """The same handler in another place: another environment, session, clock."""
        return self._build(deployment)
