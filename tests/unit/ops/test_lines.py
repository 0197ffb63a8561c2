"""The command and what is taken in order: parked jobs are seen, and a skip lets the line go on."""

import pytest

from handlers.postroom.errors import Permanent
from handlers.shop.accounts import ACCOUNT_CREDITED, aggregate_of
from tests.path.clerk import Clerk, balances, lines_of, move, open_shop_with, states
from tests.path.conftest import OpenShop
from tests.path.mortal_shop import Post
from tests.path.shop import Shop
from tests.unit.ops.conftest import Operator

FIRST = ACCOUNT_CREDITED.event_id(aggregate_of("42"), 1)


@pytest.fixture
def clerk() -> Clerk:
    return Clerk()


@pytest.fixture
def shop(open_shop: OpenShop, post: Post, clerk: Clerk) -> Shop:
    """An account whose first movement is dead, with two behind it."""
    shop = open_shop_with(clerk, open_shop)
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 1] = [Permanent("never")]
    move(shop, "42", 1, 2, 3)
    shop.run_until_idle()
    shop.run_for(1)
    return shop


def test_what_waits_behind_a_dead_one_is_listed_as_parked(operator: Operator) -> None:
    parked = operator.asks("jobs", "ls", "--state", "parked")

    assert {job["id"] for job in parked} == {FIRST.replace(".1", f".{n}:statement") for n in (2, 3)}
    assert {job["state"] for job in parked} == {"parked"}


def test_a_skip_passes_over_the_dead_one_and_the_line_goes_on(shop: Shop, operator: Operator) -> None:
    answer = operator.asks("dlq", "skip", "statement", "--job", FIRST, "--note", "by hand", "--yes")
    shop.run_until_idle()

    assert answer == {"subscriber": "statement", "skipped": [f"{FIRST}:statement"], "left": []}
    assert states(shop, "42", 1, 2, 3) == ["dead", "completed", "completed"]
    assert lines_of(shop, "42") == balances(2, 3)
    assert shop.waiting("StatementDeadLetterQueue") == 0


@pytest.mark.parametrize("words", [(), ("--job", FIRST)], ids=["all-by-a-move-task", "one-by-one"])
def test_a_redrive_brings_it_back_and_all_behind_it(
    shop: Shop, operator: Operator, words: tuple[str, ...]
) -> None:
    operator.asks("dlq", "redrive", "statement", *words, "--yes")
    shop.run_until_idle()

    assert states(shop, "42", 1, 2, 3) == ["completed"] * 3
    assert lines_of(shop, "42") == balances(1, 2, 3)


def test_a_republished_event_goes_into_its_group(shop: Shop, operator: Operator) -> None:
    operator.asks("outbox", "republish", FIRST, "--to", "statement", "--reopen", "--yes")
    shop.run_until_idle()

    assert states(shop, "42", 1, 2, 3) == ["completed"] * 3
