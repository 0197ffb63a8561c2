"""The routes under /webhooks, for the caller's own only: register, list, remove, rotate the secret, ping."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from .. import strict_json
from ..acceptance import Acceptance, Birth, Intent, Work
from ..bodies import invalid, read_body
from ..events import utc_text
from ..http import Answer, Request
from ..idempotency import HEADER, REPLAYED, derived_id, fingerprint_of, key_of
from ..operations import Operation
from ..problems import FieldError, Problem, not_found
from ..storage import Item, Store
from .documents import (
    OPERATIONS,
    CreatedWebhookDocument,
    NewSecretDocument,
    Nothing,
    Registration,
    WebhookDocument,
    WebhookListDocument,
)
from .messages import PING, DeliveryDue, birth_of, message_key
from .receivers import Reach, RefusedUrl, receiver_of
from .registry import (
    OVERLAP_SECONDS,
    Change,
    Registry,
    Secret,
    Webhook,
    kept,
    removed,
    was_removed,
    webhook_in,
    webhooks_in,
)

MAX_WEBHOOKS = 5
"""Per caller: what one ended job may cost is bounded."""
MAX_SECRETS = 3
ROUTE = "POST /webhooks"


@dataclass(frozen=True, slots=True)
class WebhooksApi:
    """`new_secret` makes a secret nobody can guess; `clock` gives epoch seconds."""

    store: Store
    clock: Callable[[], float]
    new_secret: Callable[[], str]
    reach: Reach = Reach.PUBLIC

    @property
    def operations(self) -> Sequence[Operation]:
        return OPERATIONS

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` for what cannot be done; 404 for every webhook that is not the caller's."""
        webhook_id = request.path_parameters.get("id", "")
        match request.route:
            case "POST /webhooks":
                return self._register(request)
            case "GET /webhooks":
                return self._list(request.caller)
            case "POST /webhooks/{id}/ping":
                return self._ping(request, webhook_id)
            case "POST /webhooks/{id}/rotate":
                return self._rotate(request, webhook_id)
            case "DELETE /webhooks/{id}":
                return self._remove(request.caller, webhook_id)
            case _:
                return _shown(_view(self._own(request.caller, webhook_id)))

    # ---- register ------------------------------------------------------------------------------------

    def _register(self, request: Request) -> Answer:
        key = key_of(request)
        asked = read_body(request, Registration)
        try:
            receiver_of(asked.url, self.reach)
        except RefusedUrl as refused:
            raise invalid([FieldError("url", str(refused))]) from None
        webhook_id, secret = derived_id(request.caller, ROUTE, key), self.new_secret()
        made = Webhook(
            webhook_id,
            asked.url,
            fingerprint_of(asked),
            int(self.clock()),
            [Secret(webhook_id, secret)],
        )
        return self._registry.change(request.caller, lambda item: _registered(item, made))

    # ---- one webhook ---------------------------------------------------------------------------------

    def _remove(self, caller: str, webhook_id: str) -> Answer:
        def decide(item: Item) -> tuple[Change | None, Answer]:
            if was_removed(item, webhook_id):
                return None, Answer(204)
            _found(item, webhook_id)
            return removed(webhook_id, self.clock()), Answer(204)

        return self._registry.change(caller, decide)

    def _rotate(self, request: Request, webhook_id: str) -> Answer:
        key = key_of(request)
        read_body(_with_a_body(request), Nothing)
        secret = Secret(derived_id(request.caller, f"rotate {webhook_id}", key), self.new_secret())
        return self._registry.change(
            request.caller, lambda item: _rotated(_found(item, webhook_id), secret, self.clock())
        )

    def _ping(self, request: Request, webhook_id: str) -> Answer:
        work = Work(
            route=f"ping {webhook_id}",
            model=Nothing,
            key=message_key,
            settle=lambda intent: self._own(intent.caller, webhook_id),
            undo=lambda _hook, _winner: None,
            build=_ping,
        )
        accept = Acceptance(work, self.store, lambda: datetime.fromtimestamp(self.clock(), UTC))
        return accept(_with_a_body(request))

    def _list(self, caller: str) -> Answer:
        hooks = webhooks_in(self._registry.item(caller))
        document: WebhookListDocument = {"webhooks": [_view(hook) for hook in hooks]}
        return _shown(document)

    def _own(self, caller: str, webhook_id: str) -> Webhook:
        return _found(self._registry.item(caller), webhook_id)

    @property
    def _registry(self) -> Registry:
        return Registry(self.store, self.clock)


def _registered(item: Item, made: Webhook) -> tuple[Change | None, Answer]:
    there = webhook_in(item, made.id)
    if was_removed(item, made.id):
        raise Problem(
            409, "webhook_removed", "This request's webhook was removed. Use a new key for a new one."
        )
    if there is None:
        if len(webhooks_in(item)) >= MAX_WEBHOOKS:
            raise Problem(409, "too_many_webhooks", f"A caller has at most {MAX_WEBHOOKS}. Remove one first.")
        return Change(kept(made)), _created(made, {})
    if there.fingerprint != made.fingerprint:
        errors = [FieldError(HEADER, "was used before, with another payload")]
        raise Problem(422, "idempotency_key_reused", "Use a new key for a new request.", errors=errors)
    return None, _created(there, {REPLAYED: "true"})


def _created(hook: Webhook, more: Mapping[str, str]) -> Answer:
    """The secret is told to the request that made it, and to its repeats while it is the one in use."""
    first = hook.secrets[0]
    document: CreatedWebhookDocument = {
        "id": hook.id,
        "url": hook.url,
        "createdAt": _text(hook.created_at),
    }
    if first.id == hook.id:
        document["secret"] = first.value
    headers = {"Location": f"/webhooks/{hook.id}", "Cache-Control": "no-store", **more}
    return Answer.json(201, strict_json.dumps(document), headers)


def _rotated(hook: Webhook, secret: Secret, now: float) -> tuple[Change | None, Answer]:
    made = next((each for each in hook.secrets if each.id == secret.id), None)
    if made is not None:
        return None, _new_secret(hook, made, {REPLAYED: "true"})
    current, *replaced = hook.still_signing(now)
    if len(replaced) >= MAX_SECRETS - 1:
        raise Problem(
            409, "rotated_too_often", "Earlier secrets are still in use. Wait until they have ended."
        )
    ending = replace(current, ends_at=int(now) + OVERLAP_SECONDS)
    rotated = replace(hook, secrets=[secret, ending, *replaced])
    return Change(kept(rotated)), _new_secret(rotated, secret, {})


def _new_secret(hook: Webhook, secret: Secret, more: Mapping[str, str]) -> Answer:
    """Says as well until when the one before it signs, too."""
    index = hook.secrets.index(secret)
    document: NewSecretDocument = {"id": hook.id, "secret": secret.value}
    if index + 1 < len(hook.secrets):
        document["previousEndsAt"] = _text(hook.secrets[index + 1].ends_at or 0)
    return _shown(document, more)


def _ping(intent: Intent[Nothing], hook: Webhook, now: datetime) -> Birth:
    data = DeliveryDue(webhook_id=hook.id, kind=PING, subject=hook.id)
    return birth_of(intent.id, data, owner=intent.caller, time=now, trace=intent.trace)


def _found(item: Item, webhook_id: str) -> Webhook:
    hook = webhook_in(item, webhook_id)
    if hook is None:
        raise not_found()
    return hook


def _view(hook: Webhook) -> WebhookDocument:
    view: WebhookDocument = {
        "id": hook.id,
        "url": hook.url,
        "state": hook.state,
        "createdAt": _text(hook.created_at),
    }
    if hook.failing_since is not None:
        view["failingSince"] = _text(hook.failing_since)
    if hook.disabled_at is not None:
        view["disabledAt"], view["reason"] = _text(hook.disabled_at), hook.reason
    return view


def _shown(document: Mapping[str, object], more: Mapping[str, str] | None = None) -> Answer:
    return Answer.json(200, strict_json.dumps(document), {"Cache-Control": "no-store", **(more or {})})


def _text(at: int) -> str:
    return utc_text(datetime.fromtimestamp(at, UTC))


def _with_a_body(request: Request) -> Request:
    if request.body:
        return request
    return replace(request, body=b"{}", headers={**request.headers, "content-type": "application/json"})
