"""A card gateway: charges and refunds, each once per idempotency key."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infra.local.providers.outages import Switch

DECLINED_TOKEN = "tok_declined"  # noqa: S105 (a test card)
MAX_LISTED = 100
Answer = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class Charge:
    """Money taken: `amount` in the currency's minor unit; `created` in epoch seconds."""

    id: str
    key: str
    amount: int
    currency: str
    reference: str
    created: float
    status: str = "approved"

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "key": self.key,
            "amount": self.amount,
            "currency": self.currency,
            "reference": self.reference,
            "created": self.created,
            "status": self.status,
        }


@dataclass
class CardGateway:
    """`POST /charges`, `POST /refunds` and `GET /charges`, without the wire."""

    switch: Switch
    _charges: dict[str, Charge] = field(default_factory=dict)
    _answers: dict[str, tuple[Mapping[str, Any], Answer]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def charges(self) -> list[Charge]:
        """Oldest first."""
        with self._lock:
            return list(self._charges.values())

    def post(self, path: str, key: str, body: Mapping[str, Any]) -> Answer:
        """Answer a POST. The same key and body get the first answer again, another body gets 422."""
        if self.switch.is_down:
            return 503, {"error": "unavailable"}
        if not key:
            return 400, {"error": "idempotency_key_required"}
        act = {"/charges": self._charge, "/refunds": self._refund}.get(path)
        if act is None:
            return 404, {"error": "not_found"}
        with self._lock:
            scoped = f"{path} {key}"
            if scoped not in self._answers:
                self._answers[scoped] = body, act(key, body)
            first, answer = self._answers[scoped]
            return answer if first == body else (422, {"error": "idempotency_key_reused"})

    def listed(self, query: Mapping[str, str]) -> Answer:
        """A page of charges, oldest first: `since` ≤ created < `until`, of one `source`, `after` a charge."""
        if self.switch.is_down:
            return 503, {"error": "unavailable"}
        try:
            since, until = float(query.get("since", 0)), float(query.get("until", "inf"))
            limit = min(max(int(query.get("limit", MAX_LISTED)), 1), MAX_LISTED)
        except ValueError:
            return 400, {"error": "invalid_request"}
        source = f"{query['source']}/" if "source" in query else ""
        charges = [each for each in self.charges if each.reference.startswith(source)]
        found = [each for each in charges if since <= each.created < until]
        ids = [each.id for each in found]
        start = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
        page = found[start : start + limit]
        following = page[-1].id if start + limit < len(found) else None
        return 200, {"charges": [each.shown() for each in page], "next": following}

    def _charge(self, key: str, body: Mapping[str, Any]) -> Answer:
        amount, currency = body.get("amount"), body.get("currency")
        if (
            not isinstance(amount, int)
            or isinstance(amount, bool)
            or amount <= 0
            or not isinstance(currency, str)
        ):
            return 400, {"error": "invalid_request"}
        if body.get("token") == DECLINED_TOKEN:
            return 402, {"error": "card_declined"}
        number, reference = len(self._charges) + 1, str(body.get("reference", ""))
        charge = Charge(f"ch_{number}", key, amount, currency, reference, self.switch.clock())
        self._charges[charge.id] = charge
        return 200, {"id": charge.id, "status": charge.status}

    def _refund(self, key: str, body: Mapping[str, Any]) -> Answer:
        charge = self._charges.get(str(body.get("charge")))
        if charge is None:
            return 404, {"error": "no_such_charge"}
        if charge.status == "refunded":
            return 409, {"error": "already_refunded"}
        self._charges[charge.id] = replace(charge, status="refunded")
        return 200, {"id": f"re_{key}", "charge": charge.id, "status": "refunded"}
