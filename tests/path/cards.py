"""A card gateway in this process."""

from dataclasses import dataclass, field

from handlers.shop.ports import Charge, ChargePage
from infra.local.aws import LocalAws
from infra.local.aws.meter import Call
from infra.local.stubs import StubCards


@dataclass
class GuardedCards:
    """A card gateway that remembers which AWS calls had been made before it was asked."""

    cards: StubCards
    aws: LocalAws
    calls_before: list[list[Call]] = field(default_factory=list)

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        self.calls_before.append(list(self.aws.calls))
        return self.cards.charge(amount, currency, token, key=key)

    def refund(self, charge_id: str) -> None:
        self.cards.refund(charge_id)

    def made(self, *, since: float, until: float, after: str | None) -> ChargePage:
        return self.cards.made(since=since, until=until, after=after)
