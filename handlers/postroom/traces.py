"""The X-Ray trace that a request began, carried in its event: one order, one trace.

It travels in the message's body, so no attribute of a topic or queue is spent on it, and a message that is
batched with others, published again or redriven keeps its own.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_IN_EVENT = re.compile(r'"trace":\s*"([^"\\]*)"')
_ROOT = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}")
_PARENT = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Trace:
    """`root` is the trace's id, `parent` the segment that it goes on from; unsampled ones are not recorded.

    docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
    """

    root: str
    parent: str = ""
    is_sampled: bool = False

    @classmethod
    def read(cls, header: str) -> "Trace | None":
        """None for what is no trace header; further parts of one are left out."""
        parts = dict(part.strip().partition("=")[::2] for part in header.split(";"))
        if not _ROOT.fullmatch(parts.get("Root", "")):
            return None
        parent = parts.get("Parent", "")
        return cls(parts["Root"], parent if _PARENT.fullmatch(parent) else "", parts.get("Sampled") == "1")

    @property
    def header(self) -> str:
        parent = f";Parent={self.parent}" if self.parent else ""
        return f"Root={self.root}{parent};Sampled={int(self.is_sampled)}"


@lru_cache(maxsize=64)
def of_event(text: str) -> Trace | None:
    """The trace of an event's text, readable or not: it comes before anything that a caller has written.

    Each event of a batch is asked for several times.
    """
    found = _IN_EVENT.search(text)
    return Trace.read(found[1]) if found else None


def id_of(text: str) -> str:
    """The id by which an event's log lines are found together; empty without a trace."""
    trace = of_event(text)
    return trace.root if trace else ""
