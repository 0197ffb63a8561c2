"""One order is one trace: from the request to each of its jobs, through a failure and a retry."""

import json
import logging

from tests.path.shop import Shop

ROOT = "1-6aee2c00-0123456789abcdef01234567"


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("job."):
            self.lines.append(vars(record))


def order(shop: Shop, trace: str) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "order-1", "x-amzn-trace-id": trace}
    body = {
        "email": "ada@example.com",
        "cardToken": "tok_1",
        "lines": [{"sku": "adire-shirt", "quantity": 1}],
    }
    answer = shop.stack.call("POST", "/checkout", headers, json.dumps(body), subject="ada")
    assert answer.status == 202, answer.body


def test_every_log_line_of_an_orders_jobs_names_the_requests_trace(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    heard = Heard()
    logging.getLogger("postroom").addHandler(heard)
    shop.mailer.switch.fail()

    order(shop, f"Root={ROOT};Sampled=1")
    shop.settle()
    shop.mailer.switch.mend()
    shop.run_for(600)
    logging.getLogger("postroom").removeHandler(heard)

    assert {line["traceId"] for line in heard.lines} == {ROOT}
    assert {line["subscriber"] for line in heard.lines} >= {"receipts", "loyalty", "warehouse", "invoices"}


def test_the_trace_costs_no_attribute_of_the_topic(shop: Shop) -> None:
    order(shop, f"Root={ROOT};Sampled=1")

    with shop.without("ReceiptsFunction"):
        shop.settle()

    url = shop.stack.ref("ReceiptsQueue")
    answer = shop.client("sqs").receive_message(QueueUrl=url, MessageAttributeNames=["All"])
    (message,) = answer["Messages"]
    assert message["MessageAttributes"].keys() == {"type", "publication"}
    assert ROOT in message["Body"]
