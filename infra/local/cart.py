"""What demonstrations and measurements buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CART_LINES = ({"sku": "adire-shirt", "quantity": 2}, {"sku": "palm-basket", "quantity": 1})
"""Two shirts and a basket: 2,042,500 kobo, ₦20,425."""


def cart(email: str, lines: Sequence[Mapping[str, Any]] = CART_LINES) -> dict[str, Any]:
    """The body of a checkout."""
    return {"email": email, "cardToken": "tok_visa", "lines": list(lines)}
