"""boto3 clients that outlive their model: making them takes longer than what most tests do with them."""

from typing import TYPE_CHECKING, Any, cast

from infra.local.aws import LocalAws, shortcut, wire
from infra.local.aws.clock import Clock
from infra.local.aws.session import answered_by, unsigned
from infra.local.aws.switches import Switches

if TYPE_CHECKING:
    from boto3.session import Session

REGION = "eu-west-1"
UNRETRIED = {None, "ConditionalCheckFailedException", "TransactionCanceledException"}


class Plug:
    """Clients that ask whatever model is plugged in. Those of `short` take the shortcut past the wire."""

    model: LocalAws

    def __init__(self) -> None:
        self.session = unsigned(answered_by(lambda request: wire.answer(self.model, request), REGION))
        self.short = unsigned(answered_by(lambda request: wire.answer(self.model, request), REGION))
        shortcut.take(self.short, cast(LocalAws, self))
        self.clients: dict[str, Any] = {}
        self.short_clients: dict[str, Any] = {}

    @property
    def switches(self) -> Switches:
        return self.model.switches

    def request(self, *asked: Any) -> Any:
        return self.model.request(*asked)


_UNUSED: list[Plug] = []


class PluggedAws(LocalAws):
    """A model whose own session, the first one asked for, is of a plug that others have used before."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, region=REGION)
        self.plug = _UNUSED.pop() if _UNUSED else Plug()
        self.plug.model = self
        self._own = [self.plug.session]

    def session(self) -> "Session":
        return self._own.pop() if self._own else super().session()

    def unplug(self) -> None:
        """Leave the clients to the next one, unless they have spent of what they may retry."""
        if all(call.error in UNRETRIED for call in self.calls):
            _UNUSED.append(self.plug)
