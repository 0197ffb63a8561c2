"""Shipping: an order moves on and never back, and its customer is told by SMS."""

from handlers.shop.orders import order_key
from tests.path.shop import Shop

PHONE = {"phone": "+2348012345678"}
SHIPPED = "order-1001-shipped"


def status(shop: Shop) -> str:
    key = order_key("1001")
    return str(shop.store.read([key])[key].get("status", "PAID"))


def texts(shop: Shop) -> list[str]:
    return [text.message for text in shop.aws.sns.phones.texts]


def shipped(shop: Shop) -> None:
    shop.order(1001)
    assert shop.post("/orders/1001/ship", PHONE).status == 202
    shop.run_until_idle()


def test_shipping_sends_one_sms(shop: Shop) -> None:
    shop.order(1001)
    answers = [shop.post("/orders/1001/ship", PHONE, key) for key in ("k1", "k1", "k2")]
    shop.run_until_idle()

    assert [answer.status for answer in answers] == [202, 202, 409]
    assert answers[0].headers["location"] == f"/jobs/{SHIPPED}"
    assert status(shop) == "SHIPPED"
    assert texts(shop) == ["Your order 1001 is on its way."]


def test_shipped_delivered_three_times_is_sent_duplicate_duplicate(shop: Shop) -> None:
    shipped(shop)
    event = next(item["event"] for item in shop.shop_items("order-1001") if item["sk"] == "event-shipped")

    for number in (2, 3):
        shop.publish(event, f"publication-{number}", "order.shipped")
        shop.run_until_idle()

    assert shop.outcomes("shipping-sms") == ["completed", "duplicate", "duplicate"]
    assert len(texts(shop)) == 1


def test_an_outage_of_the_sms_service_is_waited_for(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.aws.sns.phones.is_down = lambda: shop.t < 5
    shipped(shop)

    assert len(texts(shop)) == 1
    assert shop.states(SHIPPED) == {"shipping-sms": "completed"}


def test_the_number_is_in_no_message(shop: Shop) -> None:
    shipped(shop)

    assert all(PHONE["phone"] not in str(run.event) for run in shop.runs("ShippingSmsFunction"))


def test_orders_of_others_and_unknown_ones_are_not_shipped(shop: Shop) -> None:
    shop.order(1001)

    refusals = [shop.post("/orders/1001/ship", PHONE, caller="bola"), shop.post("/orders/7/ship", PHONE)]

    assert [refusal.status for refusal in refusals] == [404, 404]
    assert status(shop) == "PAID"
