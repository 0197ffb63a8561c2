"""What the example business needs to have before it can be asked for: it goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from handlers.postroom.storage import Store
from handlers.shop.audiences import Audience, Size, head, recipient

AUDIENCE = "newsletter"
"""The one that the contract's example names."""


def furnish(store: Store, owners: Sequence[str]) -> None:
    """Give each caller an audience to send campaigns to."""
    for owner in owners:
        audience = Audience(owner, AUDIENCE)
        store.write(head(audience, Size(2, 2)))
        for number in (1, 2):
            store.write(recipient(audience, number, f"{owner}-{number}@example.com", owner))
