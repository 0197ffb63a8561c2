"""Where a webhook may go: one spelling of a URL, so that no two programs can read it differently.

Nothing is normalised. What a URL parser would have to interpret (user names, backslashes, percent signs or
non-ASCII letters in the host, numbers that are addresses in disguise) is refused, with the reason.
Sources: RFC 3986 §3, RFC 1123 §2.1, url.spec.whatwg.org/#host-parsing ("ends in a number").
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from ..errors import PostroomError

MAX_CHARACTERS = 1_024
MAX_HOST_CHARACTERS = 253
_TARGET = r"(?P<target>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)"
_URL = re.compile(r"https://(?P<host>[A-Za-z0-9.-]+)(?::443)?" + _TARGET)
_LOOPBACK_URL = re.compile(r"http://127\.0\.0\.1:(?P<port>[1-9][0-9]{0,4})" + _TARGET)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES = ("localhost", "local", "internal", "lan", "home.arpa", "onion", "test", "invalid")
"""Names that never lead to the public internet (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal)."""


class Reach(StrEnum):
    """How far webhooks go. `LOOPBACK_TOO` is for the local run: it also takes http://127.0.0.1:port."""

    PUBLIC = "public"
    LOOPBACK_TOO = "public-and-loopback"


class RefusedUrl(PostroomError):
    """A URL that no webhook is sent to, and why."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """`target` is the path with its query. Without TLS it is on this very machine."""

    host: str
    target: str
    port: int = 443
    tls: bool = True

    @property
    def authority(self) -> str:
        """What the Host header says (RFC 9110 §7.2): the port only where it is not the scheme's own."""
        return self.host if self.tls else f"{self.host}:{self.port}"


def receiver_of(url: str, reach: Reach = Reach.PUBLIC) -> Receiver:
    """Raises `RefusedUrl`."""
    if reach is Reach.LOOPBACK_TOO and (local := _LOOPBACK_URL.fullmatch(url)):
        return Receiver("127.0.0.1", _absolute(local["target"]), int(local["port"]), tls=False)
    if len(url) > MAX_CHARACTERS:
        raise RefusedUrl(f"must have at most {MAX_CHARACTERS} characters")
    found = _URL.fullmatch(url)
    if not found:
        raise RefusedUrl("must be https://name/path on port 443, in plain ASCII, without user or fragment")
    return Receiver(_host(found["host"].lower()), _absolute(found["target"]))


def _host(host: str) -> str:
    labels = host.split(".")
    if len(host) > MAX_HOST_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        raise RefusedUrl("the host must be a domain name; other than ASCII letters go as xn--")
    if len(labels) < 2 or _NUMBER.fullmatch(labels[-1]):
        raise RefusedUrl("the host must be a full domain name and not an address")
    if any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        raise RefusedUrl("the host is a name of a local network")
    return host


def _absolute(target: str) -> str:
    return target if target.startswith("/") else f"/{target}"
