"""Phones that SMS reach: nothing leaves this machine.

https://docs.aws.amazon.com/sns/latest/dg/sms_sending-overview.html
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


@dataclass(frozen=True, slots=True)
class Text:
    """One SMS. `at` is epoch seconds."""

    number: str
    message: str
    at: float


@dataclass
class Phones:
    """Every SMS so far. `is_down` tells whether the service is out of order."""

    region: Region
    texts: list[Text] = field(default_factory=list)
    is_down: Callable[[], bool] = lambda: False

    def deliver(self, number: str, message: str) -> str:
        """Returns the message id. The same text again is a second SMS: nothing deduplicates."""
        if self.is_down():
            raise AwsError("InternalError", "The SMS service is out of order", 500)
        if not _E164.fullmatch(number):
            raise AwsError("InvalidParameter", "Invalid parameter: PhoneNumber")
        self.texts.append(Text(number, message, self.region.clock.now()))
        return self.region.new_id()
