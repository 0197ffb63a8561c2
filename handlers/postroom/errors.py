"""Failures as values with names; which of them a retry can mend is decided in `retries`."""

from collections.abc import Mapping
from typing import Any


class PostroomError(Exception):
    """Base of every error the engine raises or understands."""


class Permanent(PostroomError):
    """Retrying cannot help: the job is dead after this one run."""


class Unreadable(Permanent):
    """A message, event or body that cannot be read: bad JSON, a wrong field, an unknown type.

    `field` names the place where it is known, such as `lines[0].sku`.
    """

    def __init__(self, reason: str, *, field: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field


class NotFound(Permanent):
    """Something the work refers to does not exist."""


class Transient(PostroomError):
    """Trying again later may help. `retry_after_seconds` is what the provider asked for, if it asked."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class NewerVersion(Transient):
    """An event of a version that this code does not know yet: a deploy that is under way may bring it."""


class NeverReported(PostroomError):
    """A queue gave a message up, and no run of its job had come to an end."""


class Explained(Transient):
    """A failure that may pass, in words for the job's owner, who can mend it: no word of the inside."""


class NotActed(Transient):
    """The provider has certainly done nothing: a connection that was refused, a request never sent.

    Says to a claimed call, which is otherwise in doubt after an error, that trying again does nothing twice.
    """


class ProviderError(PostroomError):
    """A provider answered with an HTTP status that is not a success."""

    def __init__(self, status: int, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class Withdrawn(PostroomError):
    """Whoever asked for this work has taken it back: the job ends as cancelled, without effect.

    Its message is for people: the job's owner is shown it.
    """


class AlreadyDone(PostroomError):
    """The effect is there already, so this run changes nothing: its job is complete."""


class ConditionFailed(PostroomError):
    """A conditional write was refused. `old` is the item that stood in its way, None when there is none."""

    def __init__(self, old: Mapping[str, Any] | None) -> None:
        super().__init__("the condition of a write does not hold")
        self.old = old


class CancelledBecause(PostroomError):
    """Why one item of a cancelled transaction could not be written.

    `code` is DynamoDB's cancellation reason (`ConditionalCheckFailed`, `TransactionConflict`, ...).
    Source: docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    def __init__(self, code: str, message: str, old: Mapping[str, Any] | None) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.old = old

    @property
    def is_condition(self) -> bool:
        return self.code == "ConditionalCheckFailed"

    @property
    def is_conflict(self) -> bool:
        """Contention, not a condition: the same transaction may well go through in a moment."""
        return self.code in {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

    @property
    def is_hopeless(self) -> bool:
        """Whether the write is refused for what it is: its size, a number out of range, a type of a key."""
        return self.code in {"ValidationError", "ItemCollectionSizeLimitExceeded"}


class TransactionCancelled(PostroomError):
    """A transaction wrote nothing. `reasons` holds one entry per write, None where the write was fine."""

    def __init__(self, reasons: tuple[CancelledBecause | None, ...]) -> None:
        super().__init__("the transaction was cancelled")
        self.reasons = reasons

    @property
    def hopeless(self) -> CancelledBecause | None:
        """The first reason that no repeat will overcome."""
        return next((reason for reason in self.reasons if reason and reason.is_hopeless), None)
