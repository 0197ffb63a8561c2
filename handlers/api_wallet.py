"""POST /wallet/credits, /wallet/charges, /wallet/refunds: each once, in one transaction with its event."""

from .postroom.aws.http_entry import changes_entry
from .shop.wallet import CHARGE, CREDIT, REFUND

handler = changes_entry(CREDIT, CHARGE, REFUND)
