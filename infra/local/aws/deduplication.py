"""The deduplication that FIFO queues and FIFO topics do: what came within five minutes is not taken again.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
and https://docs.aws.amazon.com/sns/latest/dg/fifo-message-dedup.html
"""

import hashlib
from collections import deque
from typing import Generic, TypeVar

INTERVAL_MS = 300_000
Answer = TypeVar("Answer")
Key = tuple[str, str]
"""Where the id must be unique (a message group, or "" for all of it), and the id."""


def content_id(body: str) -> str:
    """The id that content-based deduplication gives: of the body, not of the attributes."""
    return hashlib.sha256(body.encode()).hexdigest()


class Recent(Generic[Answer]):
    """What was accepted lately, and the answer given. Times are epoch milliseconds."""

    def __init__(self) -> None:
        self._answers: dict[Key, Answer] = {}
        self._ages: deque[tuple[int, Key]] = deque()

    def earlier(self, key: Key, now_ms: int) -> Answer | None:
        """The answer given to the same id less than five minutes ago, even if that message is gone."""
        while self._ages and self._ages[0][0] + INTERVAL_MS <= now_ms:
            del self._answers[self._ages.popleft()[1]]
        return self._answers.get(key)

    def remember(self, key: Key, answer: Answer, now_ms: int) -> None:
        self._answers[key] = answer
        self._ages.append((now_ms, key))
