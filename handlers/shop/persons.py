"""What an item says of a person, and that it no longer does.

Erasing takes away addresses, names and free text, and nothing else: ids, amounts, fingerprints and markers
stay, so that a repeated request gets its answer, and a repeated message has its effect behind it.
"""

from ..postroom.errors import Withdrawn
from ..postroom.storage import Item

ERASED_AT = "erasedAt"
"""On an item that has lost what it said of a person: when, in epoch milliseconds."""
ERASED = "the customer's personal data was erased"


def is_erased(item: Item) -> bool:
    return ERASED_AT in item


def of_a_person(item: Item) -> Item:
    """The item, for whoever writes to its person. Raises `Withdrawn` when there is nobody to write to."""
    if is_erased(item):
        raise Withdrawn(ERASED)
    return item
