"""What reaches a subscriber's queue is what its event's schema says."""

import json

import jsonschema

from infra.events import ROOT, SCHEMAS
from tests.path.names import resource_of
from tests.path.shop import SUBSCRIBERS, Shop


def test_every_message_fits_the_schema_of_its_version(shop: Shop) -> None:
    with shop.without(*(resource_of(name, "Function") for name in SUBSCRIBERS)):
        shop.checkout()
        shop.settle()
    queues = [shop.aws.sqs.queue(shop.stack.ref(resource_of(name, "Queue"))) for name in SUBSCRIBERS]
    events = [json.loads(message.body) for queue in queues for message in queue.messages]

    assert len(events) == len(SUBSCRIBERS)
    for event in events:
        contract = ROOT / SCHEMAS / f"{event['type']}.v{event['version']}.json"
        jsonschema.validate(event, json.loads(contract.read_text(encoding="utf-8")))
