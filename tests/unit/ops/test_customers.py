"""Erasing a customer: nothing personal of her is left, and every repeat stays harmless."""

import json
import re
from typing import Any

import pytest

from handlers.postroom.storage import Update
from handlers.postroom.webhooks.registry import registry_key, webhooks_in
from handlers.shop.audiences import Audience, Size
from handlers.shop.customers import customer_id
from handlers.shop.orders import order_key
from tests.path.campaigns import CAMPAIGN, join
from tests.path.mortal_shop import EVENT, Post, redrive, refuse
from tests.path.shop import Shop
from tests.unit.ops.conftest import Operator

ADA = "ada@example.com"
SECRETS = re.compile(r"ada@example|Ada Lovelace|behind the blue door|\+2348012345678|hooks\.example|Buy milk")
"""Whatever the shop has heard of Ada herself."""
CART = {
    "email": ADA,
    "cardToken": "tok_visa",
    "note": "behind the blue door",
    "lines": [{"sku": "adire-shirt", "quantity": 1}],
}


def everything(shop: Shop) -> str:
    return json.dumps(shop.everything(), default=str)


def known(shop: Shop, caller: str = "ada") -> str:
    """Let the shop hear of a customer in every way; returns the event of her order."""
    shop.post("/signup", {"name": "Ada Lovelace", "email": ADA}, caller=caller)
    event_id = str(shop.post("/checkout", CART, "order-1", caller).json["jobId"])
    shop.settle()
    order_id = event_id.removeprefix("order-").removesuffix("-paid")
    shop.post(f"/orders/{order_id}/ship", {"phone": "+2348012345678"}, caller=caller)
    shop.post("/reminders", {"email": ADA, "text": "Buy milk", "inSeconds": 3600}, caller=caller)
    shop.post("/login-codes", {"email": ADA}, caller=caller)
    shop.settle()
    shop.post("/webhooks", {"url": "https://hooks.example.com/ada"}, caller=caller)
    return event_id


def test_nothing_personal_is_left_in_tables_and_bucket(shop: Shop, operator: Operator) -> None:
    known(shop)
    known(shop, "bola")
    before = shop.invoices()

    done = operator.asks("customers", "erase", "ada", "--yes")

    assert done["found"] == {
        "orders": 1,
        "signups": 1,
        "reminders": 1,
        "login codes": 1,
        "picks": 1,
        "jobs": done["found"]["jobs"],
        "invoice files": 1,
        "webhooks": 1,
    }
    assert done["refused"] == 0
    of_ada = [item for item in shop.shop_items() if item.get("owner") == "ada"]
    assert of_ada
    assert not SECRETS.search(json.dumps(of_ada, default=str))
    assert not webhooks_in(shop.store.read([registry_key("ada")])[registry_key("ada")])
    assert len(shop.invoices()) == len(before) - 1
    assert operator.audit()[-1]["act"] == "customers erase"


def test_nobody_else_loses_anything(shop: Shop, operator: Operator) -> None:
    known(shop, "bola")
    before = everything(shop)
    known(shop)

    operator.asks("customers", "erase", "ada", "--yes")

    of_bola = [item for item in shop.shop_items() if item.get("owner") == "bola"]
    assert all(json.dumps(item, default=str) in before for item in of_bola)
    assert shop.status(f"order-{_order_of(shop, 'bola')}-paid", "bola")["invoices"]["result"]["location"]


def test_a_repeated_request_gets_the_answer_that_it_had(shop: Shop, operator: Operator) -> None:
    known(shop)
    first = shop.post("/checkout", CART, "order-1")

    operator.asks("customers", "erase", "ada", "--yes")
    repeated, other = (
        shop.post("/checkout", CART, "order-1"),
        shop.post("/checkout", {**CART, "note": "x"}, "order-1"),
    )

    assert (repeated.status, repeated.body) == (202, first.body)
    assert not SECRETS.search(repeated.body.decode())
    assert other.json["code"] == "idempotency_key_reused"
    assert len(shop.gateway.charges) == 1


def test_a_repeated_message_has_no_second_effect(shop: Shop, operator: Operator) -> None:
    event_id = known(shop)
    operator.asks("customers", "erase", "ada", "--yes")
    mails, points, picks = len(shop.mailer.sent), shop.points(), len(shop.picks())
    row = shop.store.read([order_key(event_id.removeprefix("order-").removesuffix("-paid"))])
    [order] = row.values()

    shop.publish(order["event"])
    shop.run_until_idle()

    assert (len(shop.mailer.sent), shop.points(), len(shop.picks())) == (mails, points, picks)
    assert set(shop.states(event_id).values()) == {"completed"}
    assert shop.invoices() == []


def test_a_redriven_receipt_ends_with_its_reason_and_mails_nowhere(
    shop: Shop, operator: Operator, post: Post
) -> None:
    shop.expects("job.attempt_failed")
    post.troubles.append(refuse)
    shop.order(1001)
    shop.run_until_idle()
    assert shop.waiting("ReceiptsDeadLetterQueue") == 1
    operator.asks("customers", "erase", "ada", "--yes")

    post.troubles.clear()
    redrive(shop, "receipts")

    job = shop.status(EVENT)["receipts"]
    assert job["state"] == "cancelled"
    assert job["error"] == "It was taken back: the customer's personal data was erased."
    assert shop.mailer.sent == []
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_what_was_still_to_be_sent_is_not(shop: Shop, operator: Operator) -> None:
    shop.post("/signup", {"name": "Ada Lovelace", "email": ADA})
    shop.settle()
    sent = len(shop.mailer.sent)
    shop.post("/reminders", {"email": ADA, "text": "Buy milk", "inSeconds": 3600})
    shop.settle()
    event = shop.order(1001)

    operator.asks("customers", "erase", "ada", "--yes")
    shop.run_for(2 * 3600)

    assert len(shop.mailer.sent) == sent
    states = shop.states(event.id)
    assert (states["receipts"], states["invoices"], states["warehouse"]) == (
        "cancelled",
        "cancelled",
        "completed",
    )
    assert shop.get("/reminders").json == {"reminders": []}
    assert shop.post("/password-resets", {}, "reset").status == 404
    assert (
        shop.post("/orders/1001/ship", {"phone": "+2348012345678"}, "ship").json["code"] == "customer_erased"
    )


def test_she_leaves_every_audience_and_hers_are_gone(shop: Shop, operator: Operator) -> None:
    shop.post("/signup", {"name": "Ada Lovelace", "email": "ada-2@example.com"})
    shop.settle()
    own, others = join(shop, 60, "ada"), join(shop, 3, "bola")
    _set_address(shop, others, 2, "ADA-2@example.com")
    shop.post("/campaigns", CAMPAIGN)

    done = operator.asks("customers", "erase", "ada", "--email", "bola-3@example.com", "--yes")
    shop.run_until_idle()

    assert done["found"]["audience rows"] == 62
    assert done["found"]["campaigns"] == 1
    assert _size(shop, own) == Size(0, 60)
    assert _size(shop, others) == Size(1, 3)
    assert {item["email"] for item in shop.shop_items("audience-") if "email" in item} == {
        "bola-1@example.com"
    }
    assert [key for _, key in shop.mailer.sent] == [f"welcome:{customer_id('ada')}"]


def test_a_dry_run_counts_and_changes_nothing(shop: Shop, operator: Operator) -> None:
    known(shop)
    before = everything(shop)

    told = operator.asks("customers", "erase", "ada", "--dry-run")

    assert told["dryRun"] is True
    assert told["found"]["orders"] == 1
    assert everything(shop) == before
    assert operator.audit() == []


@pytest.mark.parametrize(("answer", "left"), [("n\n", 1), ("y\n", 0)], ids=["no", "yes"])
def test_it_asks_first(shop: Shop, operator: Operator, answer: str, left: int) -> None:
    known(shop)

    result = operator.type("customers", "erase", "ada", answer=answer)

    assert "1 order, " in result.output
    assert len(shop.invoices()) == left


def test_again_there_is_nothing_left_to_do(shop: Shop, operator: Operator) -> None:
    known(shop)
    operator.asks("customers", "erase", "ada", "--yes")
    erased = everything(shop)

    again = operator.type("customers", "erase", "ada", "--yes")

    assert again.exit_code == 0
    assert "nothing personal of ada is left" in again.output
    assert everything(shop) == erased


def test_what_was_written_meanwhile_is_left_for_the_next_run(shop: Shop, operator: Operator) -> None:
    """A row that changed after it was read is not written over."""
    event_id = known(shop)
    job = next(each for each in operator.target.job_types if each.subscriber == "receipts")
    touched: list[str] = []

    def meanwhile(**_: Any) -> None:
        if not touched:
            touched.append(event_id)
            shop.store.write(Update(job.row_key(event_id), add={"expires": 1}))

    writes = operator.target.deployment.client("dynamodb").meta.events
    writes.register("before-call.dynamodb.UpdateItem", meanwhile)

    first = operator.type("customers", "erase", "ada", "--yes")
    second = operator.asks("customers", "erase", "ada", "--yes")

    assert first.exit_code == 1
    assert "1 write came too late" in first.output
    assert second["found"] == {"jobs": 1}


def _order_of(shop: Shop, owner: str) -> str:
    return next(
        str(item["pk"]).removeprefix("order-")
        for item in shop.shop_items("order-")
        if item["sk"] == "entity" and item["owner"] == owner
    )


def _set_address(shop: Shop, audience: Audience, number: int, email: str) -> None:
    shop.store.write(Update(audience.recipient_key(number), set={"email": email}))


def _size(shop: Shop, audience: Audience) -> Size:
    return Size.from_item(shop.store.read([audience.key])[audience.key])
