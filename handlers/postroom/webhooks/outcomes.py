"""From the tables' streams to messages: whose job has ended, and which URLs are to hear of it.

A job's end is written in its row, or in the effect that is its own marker; each is a record of a stream. For
an owner without a webhook nothing is written and nothing is sent.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ConditionFailed, PostroomError
from ..storage import Item, Store
from .messages import SUBSCRIBER, Ended, ending_of
from .registry import registry_key, webhooks_in

logger = logging.getLogger("postroom.webhooks")

TOLD_OF = frozenset({"completed", "dead", "expired"})
"""Not `cancelled`: whoever cancelled it has just been told."""


class StreamEnd(NamedTuple):
    """A stream record that tells of an end."""

    sequence_number: str
    ended: Ended


@dataclass(frozen=True, slots=True)
class Outcomes:
    store: Store

    def tell(self, ends: Sequence[StreamEnd]) -> str | None:
        """Write the messages that the ends ask for. Returns the sequence number to rewind to, if any.

        A repeat finds its messages there already, and changes nothing.
        """
        try:
            registries = self._registries(ends)
        except PostroomError as error:
            logger.warning("webhooks.not_looked_up", exc_info=error)
            return ends[0].sequence_number
        for end in ends:
            try:
                self._tell(end.ended, registries.get(end.ended.owner))
            except PostroomError as error:
                logger.warning("webhooks.not_told", exc_info=error, extra={"job": end.ended.job_id})
                return end.sequence_number
        return None

    def _registries(self, ends: Sequence[StreamEnd]) -> dict[str, Item]:
        owners = {registry_key(end.ended.owner): end.ended.owner for end in ends}
        return {owners[key]: item for key, item in self.store.read(list(owners)).items()} if owners else {}

    def _tell(self, ended: Ended, registry: Item | None) -> None:
        for hook in webhooks_in(registry):
            # what ended before somebody wanted to hear of it is no news
            if not hook.is_disabled and hook.created_at * 1000 <= ended.at:
                self._write(ended, hook.id)

    def _write(self, ended: Ended, webhook_id: str) -> None:
        try:
            self.store.write(ending_of(ended, webhook_id))
        except ConditionFailed:
            return


def ended_of(raw: Mapping[str, Any]) -> StreamEnd | None:
    """A stream record as an end; None for every other change, and for the deliveries' own jobs.

    docs.aws.amazon.com/lambda/latest/dg/with-ddb.html (example event)
    """
    change = raw["dynamodb"]
    image = change.get("NewImage") or {}
    ended = _of_marker(image["job"]["M"]) if "job" in image else _of_row(image)
    if ended is None or ended.state not in TOLD_OF or ended.job_id.endswith(f":{SUBSCRIBER}"):
        return None
    return StreamEnd(change["SequenceNumber"], ended)


def _of_marker(job: Mapping[str, Any]) -> Ended | None:
    if not {"id", "owner", "endedAt"} <= job.keys():
        return None
    return Ended(job["id"]["S"], "completed", job["owner"]["S"], int(job["endedAt"]["N"]))


def _of_row(row: Mapping[str, Any]) -> Ended | None:
    if not {"state", "owner", "endedAt"} <= row.keys():
        return None
    job_id = f"{row['pk']['S']}:{row['sk']['S']}"
    return Ended(job_id, row["state"]["S"], row["owner"]["S"], int(row["endedAt"]["N"]))
