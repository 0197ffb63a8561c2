"""A caller's webhooks: one item per caller, so that "has she any?" is one read, and a limit can be held.

Secrets are kept here and nowhere else: encrypted at rest with the table, and never in an event, a message,
a log line or a listing. What changes by a request is guarded by the item's `version`; how a webhook fares has
an attribute of its own beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ..errors import ConditionFailed, Transient
from ..storage import Absent, AllOf, Compare, Condition, Exists, Item, Key, Store, Update

OVERLAP_SECONDS = 24 * 3600
"""How long a replaced secret still signs, beside its successor."""
GONE_KEPT_SECONDS = 24 * 3600
"""How long it is remembered that a webhook was removed: a late repeat of its registration revives nothing."""
_CHANGE_TRIES = 3
REGISTRY = "registry"
_HOOK, _HEALTH = "hook-", "health-"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Secret:
    """`id` names the request that made it; `ends_at` is when it stops signing (epoch seconds), if it does."""

    id: str
    value: str = field(repr=False)
    ends_at: int | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        ends = {} if self.ends_at is None else {"endsAt": self.ends_at}
        return {"id": self.id, "value": self.value, **ends}

    @classmethod
    def from_attributes(cls, stored: Item) -> "Secret":
        return cls(stored["id"], stored["value"], stored.get("endsAt"))


@dataclass(frozen=True, slots=True)
class Webhook:
    """One URL of one caller. Times are epoch seconds; `secrets` has the newest first."""

    id: str
    url: str
    fingerprint: str
    created_at: int
    secrets: Sequence[Secret]
    failing_since: int | None = None
    disabled_at: int | None = None
    reason: str = ""

    @property
    def is_disabled(self) -> bool:
        return self.disabled_at is not None

    @property
    def state(self) -> str:
        if self.is_disabled:
            return "disabled"
        return "enabled" if self.failing_since is None else "failing"

    @property
    def attributes(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "fingerprint": self.fingerprint,
            "createdAt": self.created_at,
            "secrets": [secret.attributes for secret in self.secrets],
        }

    def secrets_at(self, now: float) -> list[str]:
        """What signs at a time (epoch seconds): the newest secret, and those that it has lately replaced."""
        return [each.value for each in self.secrets if each.ends_at is None or now < each.ends_at]

    def still_signing(self, now: float) -> list[Secret]:
        return [each for each in self.secrets if each.ends_at is None or now < each.ends_at]


class Change(NamedTuple):
    """What to write to a caller's item, and what to answer then."""

    set: Mapping[str, Any]
    remove: Sequence[str] = ()


def registry_key(owner: str) -> Key:
    return Key("shop", f"webhooks-{owner}", REGISTRY)


def webhooks_in(item: Item | None) -> list[Webhook]:
    """In the order of their registration."""
    return sorted(_hooks(item or {}), key=lambda hook: (hook.created_at, hook.id))


def webhook_in(item: Item | None, webhook_id: str) -> Webhook | None:
    return next((each for each in webhooks_in(item) if each.id == webhook_id), None)


def was_removed(item: Item, webhook_id: str) -> bool:
    return "goneAt" in item.get(_HOOK + webhook_id, {})


def kept(hook: Webhook) -> dict[str, Any]:
    return {_HOOK + hook.id: hook.attributes}


def removed(webhook_id: str, now: float) -> Change:
    return Change({_HOOK + webhook_id: {"goneAt": int(now)}}, [_HEALTH + webhook_id])


def all_removed(item: Item, now: float) -> Change | None:
    """Remove every webhook of a caller with its URL and its secrets; None when there is none."""
    removals = [removed(hook.id, now) for hook in webhooks_in(item)]
    if not removals:
        return None
    gone = {name: value for each in removals for name, value in each.set.items()}
    return Change(gone, [name for each in removals for name in each.remove])


def _hooks(item: Item) -> Iterator[Webhook]:
    for name, stored in item.items():
        if name.startswith(_HOOK) and "goneAt" not in stored:
            webhook_id = name.removeprefix(_HOOK)
            health = item.get(_HEALTH + webhook_id, {})
            yield Webhook(
                webhook_id,
                stored["url"],
                stored["fingerprint"],
                stored["createdAt"],
                [Secret.from_attributes(each) for each in stored["secrets"]],
                health.get("failingSince"),
                health.get("disabledAt"),
                health.get("reason", ""),
            )


@dataclass(frozen=True, slots=True)
class Registry:
    """`clock` gives epoch seconds."""

    store: Store
    clock: Callable[[], float]

    def item(self, owner: str) -> Item:
        key = registry_key(owner)
        return self.store.read([key]).get(key, {})

    def change(self, owner: str, decide: Callable[[Item], tuple[Change | None, T]]) -> T:
        """Let `decide` look at the item and say what to change; again, when somebody else was quicker.

        It must find its own change done when it is asked a second time: an answer may get lost.
        """
        for _ in range(_CHANGE_TRIES):
            item = self.item(owner)
            change, result = decide(item)
            if change is None or self._is_written(owner, item, change):
                return result
        raise Transient("the webhooks of a caller kept changing")

    def _is_written(self, owner: str, item: Item, change: Change) -> bool:
        version = item.get("version")
        unchanged = Absent("version") if version is None else Compare("version", "=", version)
        try:
            self.store.write(
                Update(
                    registry_key(owner),
                    set={**change.set, "version": (version or 0) + 1},
                    remove=(*change.remove, *self._forgotten(item, change)),
                    condition=unchanged,
                )
            )
        except ConditionFailed:
            return False
        return True

    def _forgotten(self, item: Item, change: Change) -> list[str]:
        too_old = self.clock() - GONE_KEPT_SECONDS
        return [
            name
            for name, stored in item.items()
            if name.startswith(_HOOK) and name not in change.set and stored.get("goneAt", too_old) < too_old
        ]

    # ---- how a webhook fares -------------------------------------------------------------------------

    def note_failing(self, owner: str, hook: Webhook) -> None:
        self._note(owner, hook, {"failingSince": int(self.clock())}, Absent(_HEALTH + hook.id))

    def note_disabled(self, owner: str, hook: Webhook, reason: str) -> None:
        now = int(self.clock())
        since = now if hook.failing_since is None else hook.failing_since
        self._note(owner, hook, {"failingSince": since, "disabledAt": now, "reason": reason})

    def note_well(self, owner: str, hook: Webhook) -> None:
        key, name = registry_key(owner), _HEALTH + hook.id
        self._write(Update(key, remove=(name,), condition=Exists(name)))

    def _note(self, owner: str, hook: Webhook, health: Item, *conditions: Condition) -> None:
        there = AllOf((Exists(_HOOK + hook.id), *conditions))
        self._write(Update(registry_key(owner), set={_HEALTH + hook.id: health}, condition=there))

    def _write(self, update: Update) -> None:
        try:
            self.store.write(update)
        except ConditionFailed:
            # it is noted already, or the webhook is gone
            return
