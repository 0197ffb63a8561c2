"""Login codes: six digits by mail, of use for five minutes, once.

The code is derived from the request's id and a secret, so a mail that is sent again carries the same code,
and no message or log has to carry it. What is stored is a keyed hash: whoever reads the table learns nothing.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body, read_body
from ..postroom.errors import ConditionFailed, Permanent
from ..postroom.events import EventType
from ..postroom.http import Answer, Request
from ..postroom.jobs import RETENTION_SECONDS
from ..postroom.operations import Operation, Reply
from ..postroom.problems import not_found
from ..postroom.storage import Absent, AllOf, Compare, Item, Key, Store, Update
from ..postroom.texts import Filled
from .facts import Fact, Id
from .ports import Mail, Mailer
from .receipts import is_address

KIND = "login"
VALID_SECONDS = 300
MAX_TRIES = 5
"""Five guesses at a million codes."""
_DIGITS = 6


class LoginRequested(Fact):
    login_id: Id


LOGIN_REQUESTED = EventType("login.requested", 1, LoginRequested)


class CodeRequest(Body):
    email: Annotated[Filled, Field(max_length=254)]


class CodeGiven(Body):
    code: Annotated[str, Field(pattern=r"^[0-9]{6}$")]


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes and their hashes, by HMAC-SHA-256 (RFC 2104)."""

    secret: str = field(repr=False)

    def of(self, login_id: str) -> str:
        """Six digits; of 256 bits, a million divides so evenly that none is likelier than another."""
        return f"{int.from_bytes(self._mac('code', login_id)) % 10**_DIGITS:0{_DIGITS}}"

    def hash_of(self, login_id: str, code: str) -> str:
        """Keyed, because a million plain hashes are tried in a second."""
        return self._mac("hash", f"{login_id} {code}").hex()

    def _mac(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self.secret.encode(), f"{purpose} {text}".encode(), "sha256")


@dataclass(frozen=True, slots=True)
class CodeMailer:
    mailer: Mailer
    codes: Codes

    def send(self, login_id: str, email: str, date: datetime, *, key: str) -> str:
        """Raises `Permanent` when the address is none."""
        if not is_address(email):
            raise Permanent("the login's e-mail is not an e-mail address")
        text = f"Your code is {self.codes.of(login_id)}. It is of use for five minutes, once.\n"
        return self.mailer.send(Mail(email, "Your login code", text, date), key=key)


def aggregate_of(login_id: str) -> str:
    return f"{KIND}-{login_id}"


def login_key(login_id: str) -> Key:
    return Key("shop", aggregate_of(login_id), "entity")


def login_codes(codes: Codes) -> Work[CodeRequest, None]:
    """The work of `POST /login-codes`."""

    def build(intent: Intent[CodeRequest], _settled: None, now: datetime) -> Birth:
        event = LOGIN_REQUESTED.new(
            aggregate_of(intent.id),
            LoginRequested(login_id=intent.id),
            sequence=1,
            time=now,
            owner=intent.caller,
            trace=intent.trace,
        )
        return Birth(event, _attributes(intent, codes.hash_of(intent.id, codes.of(intent.id)), now))

    return Work(
        route="POST /login-codes",
        model=CodeRequest,
        key=login_key,
        settle=lambda _intent: None,
        undo=lambda _settled, _winner: None,
        build=build,
        summary="Ask for a code to log in with",
    )


def _attributes(intent: Intent[CodeRequest], code_hash: str, now: datetime) -> Item:
    until = now + timedelta(seconds=VALID_SECONDS)
    return {
        "email": intent.payload.email,
        "codeHash": code_hash,
        "validUntil": int(until.timestamp() * 1000),
        "tries": 0,
        "expires": int(now.timestamp()) + RETENTION_SECONDS,
    }


USE = Operation(
    "POST /login-codes/{id}/use",
    "Use a code, once",
    {204: Reply("Used.", headers=("Cache-Control",))},
    {404: "The code is wrong, too old, used, tried too often, or somebody else's."},
    body=CodeGiven,
)


@dataclass(frozen=True, slots=True)
class CodeUse:
    """`POST /login-codes/{id}/use`: every try is counted before it is judged, and one use is the last.

    A code that is wrong, too old, used, tried too often or somebody else's is one and the same 404. `clock`
    gives epoch seconds.
    """

    store: Store
    codes: Codes
    clock: Callable[[], float]

    @property
    def operations(self) -> Sequence[Operation]:
        return [USE]

    def __call__(self, request: Request) -> Answer:
        code, login_id = read_body(request, CodeGiven).code, request.path_parameters.get("id", "")
        if not login_id.isalnum():
            raise not_found()
        try:
            login = self.store.change(self._try(login_id, request.caller))
            if not hmac.compare_digest(login["codeHash"], self.codes.hash_of(login_id, code)):
                raise not_found()
            self.store.write(self._use(login_id))
        except ConditionFailed:
            raise not_found() from None
        return Answer(204, {"Cache-Control": "no-store"})

    def _try(self, login_id: str, caller: str) -> Update:
        in_time = Compare("validUntil", ">", self._now_ms)
        few = Compare("tries", "<", MAX_TRIES)
        mine = Compare("owner", "=", caller)
        return Update(
            login_key(login_id), add={"tries": 1}, condition=AllOf((mine, in_time, few, Absent("usedAt")))
        )

    def _use(self, login_id: str) -> Update:
        return Update(login_key(login_id), set={"usedAt": self._now_ms}, condition=Absent("usedAt"))

    @property
    def _now_ms(self) -> int:
        return int(self.clock() * 1000)
