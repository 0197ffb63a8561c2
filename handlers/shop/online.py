"""How many customers are online now: a number to look at, at most once on purpose.

Each visitor's page says so once a minute, and each minute has a counter of its own. A hello that gets lost
makes the number smaller by one for a minute, which nobody notices and the next minute mends; so there is no
key, no marker, no retry and no event: whatever would make it exact costs more than the number is worth. Only
one thing must not happen, a hello that counts twice, and so it is never sent twice.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from ..postroom import strict_json
from ..postroom.errors import PostroomError
from ..postroom.http import Answer, Request
from ..postroom.operations import Operation, Reply
from ..postroom.storage import Key, Store, Update

logger = logging.getLogger("postroom.online")

KEPT_SECONDS = 3600
_MINUTE = 60


class OnlineDocument(TypedDict):
    """How many said hello in the last whole minute."""

    online: Annotated[int, Field(ge=0)]


SAY_HELLO = Operation("POST /online", "Say hello, at most once", {204: Reply("Heard, or lost.")})
HOW_MANY = Operation(
    "GET /online",
    "Tell how many customers are online",
    {200: Reply("The number.", OnlineDocument, ("Cache-Control",))},
)


def minute_key(epoch_seconds: float) -> Key:
    return Key("shop", f"online-{int(epoch_seconds) // _MINUTE}", "count")


@dataclass(frozen=True, slots=True)
class Online:
    """`POST /online` says hello, `GET /online` tells how many did in the last whole minute.

    `counter` sends each write once; `clock` gives epoch seconds.
    """

    counter: Store
    clock: Callable[[], float]

    @property
    def operations(self) -> Sequence[Operation]:
        return [SAY_HELLO, HOW_MANY]

    def __call__(self, request: Request) -> Answer:
        return self._tell() if request.method == "GET" else self._count()

    def _count(self) -> Answer:
        now = self.clock()
        expires = int(now) + KEPT_SECONDS
        try:
            self.counter.write(
                Update(minute_key(now), set={"expires": expires}, add={"online": 1}, condition=None)
            )
        except PostroomError as error:
            # lost, and meant to be: trying again might count somebody twice
            logger.info("online.not_counted", extra={"error": type(error).__name__})
        return Answer(204)

    def _tell(self) -> Answer:
        key = minute_key(self.clock() - _MINUTE)
        document: OnlineDocument = {"online": int(self.counter.read([key]).get(key, {}).get("online", 0))}
        return Answer.json(200, strict_json.dumps(document), {"Cache-Control": "max-age=60"})
