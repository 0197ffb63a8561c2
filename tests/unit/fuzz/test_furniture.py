"""What the example business has before it is asked."""

from handlers.shop.audiences import Audience
from infra.fuzz.furniture import AUDIENCE, furnish
from tests.fakes import FakeStore


def test_each_caller_has_what_the_contract_s_examples_name() -> None:
    store = FakeStore()

    furnish(store, ("alice", "bola"))

    for owner in ("alice", "bola"):
        audience = Audience(owner, AUDIENCE)
        assert store.read([audience.key])[audience.key]["recipients"] == 2
        assert store.read([audience.recipient_key(2)])
