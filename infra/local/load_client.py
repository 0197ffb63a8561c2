"""The customers of a load run, in a process of their own: they share no interpreter lock with the stack."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from infra.local.cart import cart
from infra.local.client import Client

GIVE_UP_SECONDS = 120
PAUSE_SECONDS = 0.05


@dataclass
class Crowd:
    """Clients that place numbered orders, each again and again until it is accepted."""

    url: str
    token: str
    latencies: list[float] = field(default_factory=list)
    repeats: int = 0
    locations: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def place(self, numbers: Sequence[int]) -> None:
        client = Client(self.url, self.token)
        for number in numbers:
            self._place(client, number)
        client.close()

    def _place(self, client: Client, number: int) -> None:
        begun = time.monotonic()
        tries = 0
        location = None
        while location is None:
            if time.monotonic() - begun > GIVE_UP_SECONDS:
                raise TimeoutError(f"order {number} is not accepted within {GIVE_UP_SECONDS} s")
            location = _accepted(client, number)
            tries += 1
        with self._lock:
            self.latencies.append(time.monotonic() - begun)
            self.repeats += tries - 1
            self.locations.append(location)


def _accepted(client: Client, number: int) -> str | None:
    try:
        answer = client.command("/checkout", f"load-{number}", cart(f"customer-{number}@example.com"))
    except ConnectionError:
        time.sleep(PAUSE_SECONDS)
        return None
    if answer.status == 202:
        return answer.headers["location"]
    if answer.status < 500 and answer.status != 409:
        raise RuntimeError(f"order {number} was refused: {answer.status} {answer.body!r}")
    time.sleep(PAUSE_SECONDS)
    return None


def main() -> None:
    """Place orders; print one line of JSON that says how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("orders", type=int)
    parser.add_argument("clients", type=int)
    parsed = parser.parse_args()
    crowd = Crowd(parsed.url, parsed.token)
    begun = time.monotonic()
    with ThreadPoolExecutor(parsed.clients) as pool:
        shares = [range(share, parsed.orders, parsed.clients) for share in range(parsed.clients)]
        list(pool.map(crowd.place, shares))
    report = {
        "seconds": time.monotonic() - begun,
        "latencies": sorted(crowd.latencies),
        "repeats": crowd.repeats,
        "locations": crowd.locations,
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
