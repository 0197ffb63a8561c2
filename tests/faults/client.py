"""A client of the API who keeps a log: what was asked, and every answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from infra.local.aws.clock import ManualClock
from infra.local.cart import CART_LINES
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.stack import Stack
from infra.local.tokens import Issuer

TRIES = 8
EMAIL_DOMAIN = "personal.example"
CARD_TOKEN = "tok_secret_4242"
CHECKOUT = "POST /checkout"
PHONE = "+2348012345678"
NOTE = "Ring twice at 12 Marina Road"


@cache
def _token(issuer: str, audience: str, subject: str) -> str:
    return Issuer(issuer, [audience]).token(subject)


def cart(caller: str, quantity: int = 2, email: str = "") -> dict[str, Any]:
    lines = [{**CART_LINES[0], "quantity": quantity}, CART_LINES[1]]
    address = email or f"{caller}@{EMAIL_DOMAIN}"
    return {"email": address, "cardToken": CARD_TOKEN, "note": NOTE, "lines": lines}


@dataclass
class Asked:
    """What a caller wanted, with the answer to each try; `ends` are the statuses that may be the last."""

    caller: str
    key: str
    body: Mapping[str, Any]
    route: str = CHECKOUT
    ends: frozenset[int] = frozenset({202, 402, 422})
    answers: list[HttpAnswer] = field(default_factory=list)

    @property
    def accepted(self) -> list[HttpAnswer]:
        return [answer for answer in self.answers if answer.status == 202]


class Clients:
    """All callers. `log` is what they could show in court."""

    def __init__(self, stack: Stack, clock: ManualClock, elapse: Callable[[float], None]) -> None:
        assert stack.api is not None
        assert stack.api.issuer is not None
        self._issuer = stack.api.issuer
        self._stack = stack
        self._elapse = elapse
        self.log: list[Asked] = []

    def order(
        self,
        caller: str = "alice",
        key: str = "k-1",
        body: Mapping[str, Any] | None = None,
        tries: int = TRIES,
    ) -> Asked:
        """Ask for an order, again after each answer that says that it might help; `tries` times in all."""
        return self.insist(Asked(caller, key, body or cart(caller)), tries)

    def insist(self, asked: Asked, tries: int = TRIES) -> Asked:
        """Ask until there is an answer that asking again would not better."""
        self.log.append(asked)
        for _ in range(tries):
            answer = self._put(asked)
            asked.answers.append(answer)
            if answer.status in asked.ends or (answer.status < 500 and answer.status != 409):
                break
            self._elapse(float(answer.headers.get("retry-after", 1)))
        return asked

    def ask(self, caller: str, route: str, body: Mapping[str, Any], *ends: int, key: str = "k-1") -> Asked:
        return self.insist(Asked(caller, key, body, route, frozenset(ends or (202,))))

    def get(self, caller: str, target: str) -> HttpAnswer:
        return self._ask("GET", target, caller)

    def delete(self, caller: str, target: str) -> HttpAnswer:
        return self._ask("DELETE", target, caller)

    def _put(self, asked: Asked) -> HttpAnswer:
        method, _, target = asked.route.partition(" ")
        headers = {"idempotency-key": asked.key, "content-type": "application/json"}
        body = json.dumps(asked.body) if method == "POST" else ""
        return self._ask(method, target, asked.caller, headers, body)

    def _ask(
        self, method: str, target: str, caller: str, headers: Mapping[str, str] | None = None, body: str = ""
    ) -> HttpAnswer:
        token = _token(self._issuer.name, self._issuer.audience[0], caller)
        named = {"authorization": f"Bearer {token}", **(headers or {})}
        return self._stack.handle(HttpRequest.of(method, target, named, body))
