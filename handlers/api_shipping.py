"""POST /orders/{id}/ship: the order is marked as shipped, together with the event that says so."""

from .postroom.aws.http_entry import changes_entry
from .shop.shipping import SHIP

handler = changes_entry(SHIP)
