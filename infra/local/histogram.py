"""When deliveries came, as a table for eyes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

BUCKET_SECONDS = 300
BAR_WIDTH = 20


def busiest(times: Sequence[float], width: int) -> tuple[int, int]:
    """The number of the busiest interval of `width` seconds, from 0, and how many of the times lie in it."""
    counts = Counter(int(time // width) for time in times)
    return counts.most_common(1)[0] if counts else (0, 0)


def buckets(times: Sequence[float], width: int) -> list[list[float]]:
    """The times by intervals of `width` seconds, from 0 to the last that is not empty."""
    found: list[list[float]] = [[] for _ in range(int(max(times, default=-1) // width) + 1)]
    for time in times:
        found[int(time // width)].append(time)
    return found


def told(full: int, with_jitter: Sequence[float], without: Sequence[float]) -> Table:
    """Both side by side; a bar of full length stands for `full` deliveries."""
    table = Table(box=SIMPLE_HEAD, title="retries that reached the provider", title_justify="left")
    table.add_column("minutes", no_wrap=True)
    for name in ("with jitter", "without"):
        table.add_column(name, justify="right", no_wrap=True)
        table.add_column("most a second", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, width=BAR_WIDTH)
    sides = [buckets(times, BUCKET_SECONDS) for times in (with_jitter, without)]
    for number in range(max(map(len, sides))):
        cells = [_cells(side[number] if number < len(side) else [], full) for side in sides]
        table.add_row(_minutes(number), *cells[0], *cells[1])
    return table


def _cells(times: Sequence[float], full: int) -> tuple[str, str, str]:
    if not times:
        return "", "", ""
    blocks = math.ceil(BAR_WIDTH * min(1.0, len(times) / full))
    return str(len(times)), str(busiest(times, 1)[1]), "█" * blocks


def _minutes(bucket: int) -> str:
    width = BUCKET_SECONDS // 60
    return f"{bucket * width}-{(bucket + 1) * width}"
