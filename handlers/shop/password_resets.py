"""Password resets: a link by mail, which works once and for an hour.

The link's token is derived from the reset's id and a secret, so a mail that is sent again carries the same
link. What is stored is a hash of the token: whoever reads the table cannot use it.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body
from ..postroom.errors import ConditionFailed
from ..postroom.events import EventType
from ..postroom.http import Answer, Request
from ..postroom.idempotency import key_of
from ..postroom.jobs import RETENTION_SECONDS
from ..postroom.operations import Operation, Reply
from ..postroom.problems import not_found
from ..postroom.storage import Absent, AllOf, AnyOf, Compare, Item, Key, Store, Update
from .customers import Customer, customer_id, customer_key
from .facts import Fact, Id
from .persons import is_erased
from .ports import Mail, Mailer

KIND = "reset"
VALID_SECONDS = 3600
_TOKEN = re.compile(r"([a-z2-7]{26})-[a-z2-7]{52}")


class ResetRequested(Fact):
    reset_id: Id
    customer_id: Id


RESET_REQUESTED = EventType("reset.requested", 1, ResetRequested)


class ResetRequest(Body):
    """Nothing: the link goes to the address that the customer has given."""


@dataclass(frozen=True, slots=True)
class Tokens:
    secret: str = field(repr=False)

    def of(self, reset_id: str) -> str:
        """HMAC-SHA-256 (RFC 2104) of the id: 256 bits, that nobody guesses."""
        mac = hmac.digest(self.secret.encode(), reset_id.encode(), "sha256")
        return f"{reset_id}-{base64.b32encode(mac).decode().rstrip('=').lower()}"


@dataclass(frozen=True, slots=True)
class LinkMailer:
    """Mails links to `url`, to which the token is added."""

    mailer: Mailer
    tokens: Tokens
    url: str

    def send(self, reset_id: str, customer: Customer, date: datetime, *, key: str) -> str:
        link = f"{self.url}?token={self.tokens.of(reset_id)}"
        text = f"Dear {customer.name},\n\nset a new password here, once, within the hour:\n{link}\n"
        return self.mailer.send(Mail(customer.email, "Your new password", text, date), key=key)


def reset_key(reset_id: str) -> Key:
    return Key("shop", aggregate_of(reset_id), "entity")


def aggregate_of(reset_id: str) -> str:
    return f"{KIND}-{reset_id}"


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def password_reset(store: Store, tokens: Tokens) -> Work[ResetRequest, None]:
    """The work of `POST /password-resets`."""

    def is_a_customer(intent: Intent[ResetRequest]) -> None:
        key = customer_key(customer_id(intent.caller))
        customer = store.read([key]).get(key)
        if customer is None or is_erased(customer):
            raise not_found()

    def build(intent: Intent[ResetRequest], _settled: None, now: datetime) -> Birth:
        event = RESET_REQUESTED.new(
            aggregate_of(intent.id),
            ResetRequested(reset_id=intent.id, customer_id=customer_id(intent.caller)),
            sequence=1,
            time=now,
            owner=intent.caller,
            trace=intent.trace,
        )
        return Birth(event, _attributes(hash_of(tokens.of(intent.id)), now))

    return Work(
        route="POST /password-resets",
        model=ResetRequest,
        key=reset_key,
        settle=is_a_customer,
        undo=lambda _settled, _winner: None,
        build=build,
        summary="Ask for a link to set a new password",
        refusals={404: "The caller has not signed up."},
    )


def _attributes(token_hash: str, now: datetime) -> Item:
    until = now + timedelta(seconds=VALID_SECONDS)
    expires = int(now.timestamp()) + RETENTION_SECONDS
    return {"tokenHash": token_hash, "validUntil": int(until.timestamp() * 1000), "expires": expires}


USE = Operation(
    "POST /password-resets/{token}/use",
    "Use a link, once",
    {204: Reply("Used. A repeat with the same key is told so, too.", headers=("Cache-Control",))},
    {404: "The link is wrong, too old, used, or somebody else's."},
    keyed=True,
)


@dataclass(frozen=True, slots=True)
class ResetUse:
    """`POST /password-resets/{token}/use`: one conditional update, which one request wins.

    A link that is wrong, too old, used or somebody else's is one and the same 404. `clock` gives epoch
    seconds. What a used link then allows is the identity provider's affair.
    """

    store: Store
    clock: Callable[[], float]

    @property
    def operations(self) -> Sequence[Operation]:
        return [USE]

    def __call__(self, request: Request) -> Answer:
        key, token = key_of(request), request.path_parameters.get("token", "")
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise not_found()
        try:
            self.store.write(self._use(found[1], token, request.caller, key))
        except ConditionFailed:
            raise not_found() from None
        return Answer(204, {"Cache-Control": "no-store"})

    def _use(self, reset_id: str, token: str, caller: str, key: str) -> Update:
        now_ms, user = int(self.clock() * 1000), hash_of(f"{caller} {key}")
        first_or_same = AnyOf((Absent("usedBy"), Compare("usedBy", "=", user)))
        return Update(
            reset_key(reset_id),
            set={"usedBy": user, "usedAt": now_ms},
            condition=AllOf(
                (
                    Compare("tokenHash", "=", hash_of(token)),
                    Compare("owner", "=", caller),
                    Compare("validUntil", ">", now_ms),
                    first_or_same,
                )
            ),
        )
