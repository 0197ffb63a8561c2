"""What every service of the model shares: one account in one region."""

import random
import threading
from typing import Protocol

from infra.local.aws.clock import Clock, milliseconds
from infra.local.aws.meter import Usage
from infra.local.aws.switches import Switches

_UUID_FREE = ~(0xF000 << 64 | 0xC000 << 48)
_UUID_VERSION_4 = 0x4000 << 64 | 0x8000 << 48


class Background(Protocol):
    """What a service does by itself as time passes. Times are epoch milliseconds."""

    def catch_up(self) -> None:
        """Do what was due by now."""

    def next_due_ms(self) -> int | None:
        """When there is something to do; in the past when nobody has looked since."""


class Region:
    """Clock, seeded randomness, names, and the one lock that every operation holds."""

    def __init__(self, clock: Clock, seed: int, account: str, name: str) -> None:
        self.clock = clock
        self.random = random.Random(seed)  # noqa: S311 - repeatability is wanted, not secrecy
        self.account = account
        self.name = name
        self.changed = threading.Condition(threading.RLock())
        self.switches = Switches()
        self.usage = Usage()
        self.background: list[Background] = []

    def catch_up(self) -> None:
        """Let what the services do by themselves happen, as far as it was due by now."""
        with self.changed:
            for work in self.background:
                work.catch_up()

    def next_due_ms(self) -> int | None:
        """When any service next does something by itself; epoch milliseconds."""
        times = (work.next_due_ms() for work in self.background)
        return min((time for time in times if time is not None), default=None)

    def now_ms(self) -> int:
        """Milliseconds since the epoch; whole, so that leases end at exact instants."""
        return milliseconds(self.clock.now())

    def new_id(self) -> str:
        """A random UUID of version 4 (https://www.rfc-editor.org/rfc/rfc9562#section-5.4)."""
        digits = f"{self.random.getrandbits(128) & _UUID_FREE | _UUID_VERSION_4:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.name}:{self.account}:{resource}"
