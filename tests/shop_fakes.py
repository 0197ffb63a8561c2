"""In-memory stand-ins for the shop's ports, with the real ones' semantics."""

from dataclasses import dataclass, field

from handlers.shop.ports import CardDeclined, Charge, Mail
from tests.fakes import Faults


@dataclass
class FakeCards:
    """A gateway that honours keys: the same key is the same charge. Tokens in `declined` are refused."""

    declined: set[str] = field(default_factory=set)
    charges: dict[str, tuple[Charge, int]] = field(default_factory=dict)
    refunds: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        self.calls.append(key)

        def perform() -> Charge:
            if token in self.declined:
                raise CardDeclined("the card was declined")
            return self.charges.setdefault(key, (Charge(f"ch_{len(self.charges) + 1}"), amount))[0]

        return self.faults.perform("charge", perform)

    def refund(self, charge_id: str) -> None:
        self.faults.perform("refund", lambda: self.refunds.append(charge_id))


@dataclass
class FakeMailer:
    """A mailbox per key: repeats of a key collapse, `sent` keeps them all."""

    sent: list[tuple[str, Mail]] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    def send(self, mail: Mail, *, key: str) -> str:
        self.faults.perform("send", lambda: self.sent.append((key, mail)))
        return f"<{key}>"

    @property
    def mailbox(self) -> dict[str, Mail]:
        return dict(self.sent)
