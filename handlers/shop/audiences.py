"""Audiences: named lists of recipients, one item each, numbered in the order in which they joined.

A number is never given to anybody else. So a campaign that knows how far it has come, and what the last
number was when it began, reaches each of its recipients once, whoever joins or leaves meanwhile.
"""

from dataclasses import dataclass

from ..postroom.storage import Item, Key, Put

MAX_NUMBER = 999_999_999
RECIPIENT = "recipient-"
NAME_PATTERN = r"^[a-z0-9-]{1,64}$"


@dataclass(frozen=True, slots=True)
class Audience:
    """One owner's list of that name."""

    owner: str
    name: str

    @staticmethod
    def owner_of(partition: str) -> str:
        """Whose list a row's partition is."""
        return partition.partition(":")[2]

    @property
    def partition(self) -> str:
        # a name holds no colon, so no two owners' lists can meet
        return f"audience-{self.name}:{self.owner}"

    @property
    def key(self) -> Key:
        """Its head, which tells how many it has (`recipients`) and the highest number given out (`last`)."""
        return head_key_of(self.partition)

    def recipient_key(self, number: int) -> Key:
        return Key("shop", self.partition, recipient_sort_key(number))


def head_key_of(partition: str) -> Key:
    return Key("shop", partition, "audience")


@dataclass(frozen=True, slots=True)
class Size:
    """How many recipients there are, and the highest number given out."""

    recipients: int
    last: int

    @classmethod
    def from_item(cls, item: Item) -> "Size":
        return cls(int(item["recipients"]), int(item["last"]))


def recipient_sort_key(number: int) -> str:
    return f"{RECIPIENT}{number:09d}"


def number_of(sort_key: str) -> int:
    return int(sort_key.removeprefix(RECIPIENT))


def head(audience: Audience, size: Size) -> Put:
    return Put(audience.key, {"recipients": size.recipients, "last": size.last}, condition=None)


def recipient(audience: Audience, number: int, email: str, name: str) -> Put:
    return Put(audience.recipient_key(number), {"email": email, "name": name}, condition=None)
