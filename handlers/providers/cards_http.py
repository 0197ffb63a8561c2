"""A card gateway that speaks JSON over HTTP and honours idempotency keys."""

import http.client
import io
import json
import socket
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode, urlsplit

from ..postroom.aws.deployment import Deployment
from ..postroom.errors import ProviderError, Transient
from ..shop.ports import CardDeclined, Charge, ChargeInProgress, ChargePage, PastCharge
from .deadlines import Deadline, TimedReads, addresses_of

TOTAL_SECONDS = 6.0
"""For one question, from connecting to the answer's last byte, asking again included: with the database's own
time-outs, a checkout still answers before its function's time is up."""
MAX_ANSWER_BYTES = 64 * 1024
PAGE_CHARGES = 100
"""A charge is listed in some 300 bytes, so a page stays well below the longest answer that is read."""

_NOT_US = frozenset({401, 403})
"""RFC 9110 §15.5.2 and §15.5.4."""
_GONE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""What a connection raises that the other side closed while it lay idle."""


class HttpCards:
    """The gateway at `base_url`. Connections are kept and shared; any thread may use it.

    `source` tells the charges of this deployment from whatever else the gateway's account is used for: nobody
    else's charge is ever listed, and so none is refunded. `monotonic` gives seconds on a clock that only goes
    forward.
    """

    def __init__(
        self,
        base_url: str,
        total_seconds: float = TOTAL_SECONDS,
        *,
        source: str = "postroom",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = urlsplit(base_url)
        self._source = source
        self._total_seconds = total_seconds
        self._monotonic = monotonic
        self._idle: deque[_Connection] = deque()
        weakref.finalize(self, _close_all, self._idle)

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        """Raises `CardDeclined`, `ChargeInProgress`, `ProviderError`; `Transient` without a clear answer.

        A refusal of our credentials, here and below, is one: it is about no charge, and the next key may do.
        """
        body = {"amount": amount, "currency": currency, "token": token, "reference": f"{self._source}/{key}"}
        status, answer = self._post("/charges", body, key)
        match status:
            case 200:
                return Charge(_id_of(answer))
            case 402:
                raise CardDeclined("the card was declined")
            case 409:
                raise ChargeInProgress("the gateway is working on the same request")
            case _:
                raise ProviderError(status, f"the card gateway answered {status} to a charge")

    def refund(self, charge_id: str) -> None:
        status, answer = self._post("/refunds", {"charge": charge_id}, f"refund-{charge_id}")
        if status == 200 or _error_of(answer) == "already_refunded":
            return
        if status == 409:
            raise Transient("the gateway is working on the same refund, or on its charge")
        raise ProviderError(status, f"the card gateway answered {status} to a refund")

    def made(self, *, since: float, until: float, after: str | None) -> ChargePage:
        """Raises `ProviderError`; `Transient` without a clear answer, or when it cannot be read."""
        asked = {"since": since, "until": until, "limit": PAGE_CHARGES, "source": self._source}
        path = f"/charges?{urlencode({**asked, **({'after': after} if after else {})})}"
        status, answer = self._send("GET", path, b"", {})
        if status != 200:
            raise ProviderError(status, f"the card gateway answered {status} to a listing")
        try:
            return _page_of(answer, f"{self._source}/")
        except (KeyError, TypeError, ValueError) as error:
            raise Transient("the card gateway's listing cannot be read") from error

    def _post(self, path: str, body: Any, key: str) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._send("POST", path, json.dumps(body).encode(), headers)

    def _send(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        try:
            status, answer = self._exchange(method, path, content, headers)
        except (OSError, http.client.HTTPException) as error:
            raise Transient(f"the card gateway cannot be reached: {type(error).__name__}") from error
        if status in _NOT_US:
            raise Transient(f"the card gateway does not take our credentials: {status}")
        return status, answer

    def _exchange(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        deadline = Deadline(self._total_seconds, self._monotonic)
        kept = self._kept()
        if kept is not None:
            kept.deadline = deadline
            # closed while idle, perhaps; sending again is safe even if it was not: a key or a mere question
            with suppress(*_GONE):
                return self._ask(kept, method, path, content, headers)
        return self._ask(self._connect(deadline), method, path, content, headers)

    def _ask(
        self,
        connection: "_Connection",
        method: str,
        path: str,
        content: bytes,
        headers: dict[str, str],
    ) -> tuple[int, Any]:
        try:
            connection.request(method, self._url.path.rstrip("/") + path, content, headers)
            response = connection.getresponse()
            answer = response.read(MAX_ANSWER_BYTES)
        except BaseException:
            connection.close()
            raise
        if response.isclosed() and connection.sock is not None:
            self._idle.append(connection)
        else:
            connection.close()
        return response.status, _parsed(answer)

    def _kept(self) -> "_Connection | None":
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connect(self, deadline: Deadline) -> "_Connection":
        tls = ssl.create_default_context() if self._url.scheme == "https" else None
        return _Connection(self._url.hostname or "", self._url.port, tls, deadline)


class _Connection(http.client.HTTPConnection):
    """One whose every wait ends at the deadline of what is being asked."""

    def __init__(self, host: str, port: int | None, tls: ssl.SSLContext | None, deadline: Deadline) -> None:
        self.default_port = http.client.HTTPS_PORT if tls else http.client.HTTP_PORT
        super().__init__(host, port)
        self.deadline = deadline
        self._tls = tls

    def connect(self) -> None:
        plain = self.deadline.connected(addresses_of(self.host, self.port), self.port)
        self.sock = self.deadline.secured(plain, self._tls, self.host) if self._tls else plain

    def send(self, data: Any) -> None:
        if self.sock is not None:
            self.sock.settimeout(self.deadline.left())
        super().send(data)

    # http.client only calls it, with the connection, and a method knows the deadline that a class cannot
    def response_class(  # type: ignore[override]
        self, connection: socket.socket, **more: Any
    ) -> http.client.HTTPResponse:
        answer = http.client.HTTPResponse(connection, **more)
        answer.fp.close()
        answer.fp = io.BufferedReader(TimedReads(connection, self.deadline.left))
        return answer


def from_deployment(deployment: Deployment) -> HttpCards:
    return HttpCards(deployment.setting("CARDS_URL"), source=deployment.setting("CARDS_SOURCE"))


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return None


def _error_of(answer: Any) -> object:
    return answer.get("error") if isinstance(answer, dict) else None


def _page_of(answer: Any, prefix: str) -> ChargePage:
    """Money that was taken, given back or not; attempts that failed took none."""
    charges = [_past_charge(each, prefix) for each in answer["charges"] if _is_ours(each, prefix)]
    following = answer.get("next")
    return ChargePage(charges, str(following) if following else None)


def _is_ours(listed: Any, prefix: str) -> bool:
    taken = listed["status"] in ("approved", "refunded")
    return taken and str(listed.get("reference") or "").startswith(prefix)


def _past_charge(listed: Any, prefix: str) -> PastCharge:
    return PastCharge(
        id=str(listed["id"]),
        key=str(listed["reference"]).removeprefix(prefix),
        made_at=float(listed["created"]),
        is_refunded=listed["status"] == "refunded",
    )


def _id_of(answer: Any) -> str:
    """Raises `Transient` when the yes cannot be read: asking again gets the same charge."""
    identity = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(identity, str) or not identity:
        raise Transient("the card gateway's answer cannot be read")
    return identity


def _close_all(connections: deque[_Connection]) -> None:
    while connections:
        connections.pop().close()
