"""One attempt at one delivery: sign, send, and judge the answer.

Any answer but a 2xx is a failure that is tried again, 4xx and redirects included: they are the receiver's to
mend. Source: Standard Webhooks 1.0, "Delivery success and failure".
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn, Protocol

from ..errors import Explained, Permanent, PostroomError
from ..events import utc_text
from ..jobs import Job, Result
from . import signing
from .messages import PING, DeliveryDue, body_of
from .registry import Registry, Webhook, webhook_in

logger = logging.getLogger("postroom.webhooks")

LASTING_SECONDS = 72 * 3600
"""A webhook that has failed for so long, without one success between, is disabled."""
LONGEST_RETRY_AFTER_SECONDS = 24 * 3600.0
GONE = 410


class Reply(NamedTuple):
    """A receiver's answer. `retry_after_seconds` is what it asked for, if it asked."""

    status: int
    retry_after_seconds: float | None = None


class Transport(Protocol):
    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Raises `Explained` when no answer came, or when the address is not one to send to."""


@dataclass(frozen=True, slots=True)
class Sender:
    """`clock` gives epoch seconds."""

    transport: Transport
    registry: Registry
    clock: Callable[[], float]

    def send(self, job: Job[DeliveryDue]) -> Result:
        """Returns what the job shows. Raises `Explained` for what is tried again, else `Permanent`."""
        hook = webhook_in(job.loaded.get("webhooks"), job.data.webhook_id)
        if hook is None:
            return {"dropped": "the webhook was removed"}
        is_ping = job.data.kind == PING
        if hook.is_disabled and not is_ping:
            raise Permanent(f"the webhook is disabled: {hook.reason}")
        try:
            status = self._post(job, hook)
        except (Explained, Permanent) as error:
            if not is_ping:
                self._note_failure(job.event.owner, hook, error)
            raise
        if hook.state != "enabled":
            self._note(lambda: self.registry.note_well(job.event.owner, hook))
        return {"status": status}

    def _post(self, job: Job[DeliveryDue], hook: Webhook) -> int:
        now, body = self.clock(), body_of(job.event)
        headers = signing.headers(hook.secrets_at(now), job.event.aggregate, int(now), body)
        reply = self.transport.post(hook.url, headers, body)
        if not 200 <= reply.status <= 299:
            _refused(reply)
        return reply.status

    def _note_failure(self, owner: str, hook: Webhook, error: PostroomError) -> None:
        since = hook.failing_since
        if isinstance(error, Permanent):
            self._note(lambda: self.registry.note_disabled(owner, hook, str(error)))
        elif since is None:
            self._note(lambda: self.registry.note_failing(owner, hook))
        elif self.clock() - since >= LASTING_SECONDS:
            began = utc_text(datetime.fromtimestamp(since, UTC))
            reason = f"nothing could be delivered since {began}, lately because {error}"
            self._note(lambda: self.registry.note_disabled(owner, hook, reason))

    def _note(self, write: Callable[[], None]) -> None:
        """How a webhook fares is worth telling, but decides over no delivery."""
        try:
            write()
        except PostroomError as error:
            logger.warning("webhooks.health_not_noted", exc_info=error)


def _refused(reply: Reply) -> NoReturn:
    if reply.status == GONE:
        raise Permanent(f"the receiver answered {GONE}: it wants no more webhooks")
    asked = reply.retry_after_seconds
    raise Explained(
        f"the receiver answered with status {reply.status}",
        retry_after_seconds=None if asked is None else min(asked, LONGEST_RETRY_AFTER_SECONDS),
    )
