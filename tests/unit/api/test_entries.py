"""The API's functions as Lambda calls them, on DynamoDB as moto has it and a card gateway on loopback."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest

from handlers import api_checkout, api_jobs
from handlers.postroom.acceptance import Acceptance
from handlers.postroom.aws.deployment import Deployment, MissingSetting
from handlers.postroom.aws.entry import LambdaHandler
from handlers.postroom.http import answer
from handlers.shop.cart import MAX_LINES
from handlers.shop.catalogue import Product
from handlers.shop.checkout import checkout
from tests.fakes import FakeStore
from tests.shop_fakes import FakeCards
from tests.unit.aws import Invocation, make_tables, moto_session
from tests.unit.gateway import NOW, gateway_event
from tests.unit.providers.servers import CardServer, card_server

from .conftest import CART


@dataclass
class Api:
    deployment: Deployment
    cards: CardServer
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, handler: LambdaHandler, event: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = handler(event, Invocation())
        return answer

    def checkout(self, body: Any = CART) -> dict[str, Any]:
        return self.call(api_checkout.handler.on(self.deployment), gateway_event(body))

    def jobs(self, asked: str) -> dict[str, Any]:
        event = gateway_event("", path_parameters={"id": asked})
        return self.call(api_jobs.handler.on(self.deployment), event)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    with card_server() as cards, moto_session(monkeypatch) as session:
        make_tables(session)
        tables = {"SHOP_TABLE": "Shop", "JOBS_TABLE": "Jobs"}
        environ = {**tables, "CARDS_URL": cards.url, "CARDS_SOURCE": "shop"}
        api = Api(Deployment(environ, session, clock=NOW.timestamp), cards)
        events = api.deployment.client("dynamodb").meta.events
        events.register("provide-client-params.dynamodb.*", _remember(api.requests))
        yield api


def _remember(requests: list[tuple[str, dict[str, Any]]]) -> Any:
    return lambda params, model, **_: requests.append((model.name, params))


def test_checkout_is_one_consistent_get_and_one_put(api: Api) -> None:
    accepted = api.checkout()

    assert accepted["statusCode"] == 202
    assert accepted["isBase64Encoded"] is False
    assert [name for name, _ in api.requests] == ["GetItem", "PutItem"]
    assert api.requests[0][1]["ConsistentRead"] is True
    assert [charge["amount"] for charge in api.cards.charged] == [2_042_500]


def test_a_client_that_follows_the_location_at_once_finds_its_jobs(api: Api) -> None:  # DDB-5
    location = api.checkout()["headers"]["Location"]
    api.requests.clear()

    seen = api.jobs(location.removeprefix("/jobs/"))

    assert seen["statusCode"] == 200
    assert json.loads(seen["body"])["state"] == "queued"
    [(operation, request)] = api.requests
    assert operation == "BatchGetItem"
    assert all(table["ConsistentRead"] is True for table in request["RequestItems"].values())
    assert "IndexName" not in json.dumps(request)


def test_a_repeated_checkout_is_one_get_and_no_charge(api: Api) -> None:
    first = api.checkout()
    api.requests.clear()

    again = api.checkout()

    assert again["body"] == first["body"]
    assert [name for name, _ in api.requests] == ["GetItem"]
    assert len(api.cards.charged) == 1


def test_another_payload_meets_the_stored_order_before_the_gateway(api: Api) -> None:
    api.checkout()

    refusal = api.checkout({**CART, "cardToken": "tok_other"})

    assert refusal["statusCode"] == 422
    assert refusal["headers"]["Content-Type"] == "application/problem+json"
    assert len(api.cards.charged) == 1


def test_an_ordinary_order_is_one_write_unit(api: Api) -> None:
    subject = "us-east-1:8f2d6c1e-3b0a-4c55-9a8e-0d1f2a3b4c5d"
    trace = "Root=1-67891233-abcdef012345678912345678"
    headers = {
        "content-type": "application/json",
        "idempotency-key": "0b9f6a3c-7d0e-4c35-8f57-0c3c1c1a5a55",
        "x-amzn-trace-id": trace,
    }
    cart = {
        **CART,
        "email": "adaobi.okonkwo@example.com",
        "lines": [*CART["lines"], {"sku": "shea-butter", "quantity": 3}],
    }

    handler = api_checkout.handler.on(api.deployment)
    accepted = api.call(handler, gateway_event(cart, caller=subject, headers=headers))

    assert accepted["statusCode"] == 202
    assert item_size(api.requests[-1][1]["Item"]) < 1024


def test_the_largest_order_and_its_event_are_far_from_every_limit() -> None:

    products = {f"{n:032}": Product(f"{n:032}", "N" * 20, 99_999_999) for n in range(MAX_LINES)}
    cart = {
        "email": "\U0001f600" * 254,
        "cardToken": "t" * 255,
        "note": "\U0001f600" * 200,
        "lines": [{"sku": sku, "quantity": 999} for sku in products],
    }
    headers = {
        "content-type": "application/json",
        "idempotency-key": "k" * 255,
        "x-amzn-trace-id": "t" * 128,
    }
    store = FakeStore()
    respond = Acceptance(checkout(FakeCards(), products), store, lambda: NOW)

    accepted = answer(respond, gateway_event(cart, caller="s" * 255, headers=headers))

    assert accepted.status == 202, accepted.body
    [order] = store.items.values()
    assert len(json.dumps(order, ensure_ascii=False).encode()) < 12_000
    assert len(order["event"].encode()) < 2_000


def item_size(item: dict[str, Any]) -> int:
    """docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html"""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(attribute: dict[str, Any]) -> int:
    [(kind, value)] = attribute.items()
    match kind:
        case "S":
            return len(value.encode())
        case "N":
            return (len(value.strip("-")) + 1) // 2 + 1
        case "L":
            return 3 + sum(1 + _size(each) for each in value)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _size(each) for name, each in value.items())
        case _:
            return 1


def test_importing_and_binding_touch_nothing_but_a_missing_setting_is_said_at_once() -> None:
    with pytest.raises(MissingSetting, match="CARDS_URL"):
        api_checkout.handler.on(Deployment({}, boto3.Session(region_name="eu-west-1")))
