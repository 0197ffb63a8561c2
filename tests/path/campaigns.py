"""What the tests of campaigns need of a shop: an audience, a campaign, and small steps."""

import json
from collections import Counter
from typing import Any

from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from infra.local.http_messages import HttpAnswer
from tests.path.shop import Changes, Shop

CAMPAIGN = {
    "audience": "spring",
    "subject": "Spring is here, {name}",
    "text": "Dear {name},\ncome and see.\n",
}


def steps_of(recipients: int) -> Changes:
    """The template, with smaller steps."""
    variables = {
        "SHOP_TABLE": {"Ref": "ShopTable"},
        "JOBS_TABLE": {"Ref": "JobsTable"},
        "QUEUE_URL": {"Ref": "CampaignsQueue"},
        "BULK_QUEUE_URL": {"Ref": "CampaignMailsQueue"},
        "STEP_RECIPIENTS": str(recipients),
    }
    return {"CampaignsFunction": {"Environment": {"Variables": variables}}}


def address(number: int, owner: str = "ada") -> str:
    return f"{owner}-{number}@example.com"


def join(shop: Shop, count: int, owner: str = "ada", name: str = "spring") -> Audience:
    """An audience of so many."""
    audience = Audience(owner, name)
    shop.store.write(audiences.head(audience, Size(count, count)))
    for number in range(1, count + 1):
        shop.store.write(audiences.recipient(audience, number, address(number, owner), f"Reader {number}"))
    return audience


def ask(shop: Shop, key: str = "spring-1", caller: str = "ada", **changes: Any) -> HttpAnswer:
    headers = {"content-type": "application/json", "idempotency-key": key}
    return shop.stack.call("POST", "/campaigns", headers, json.dumps({**CAMPAIGN, **changes}), subject=caller)


def start(shop: Shop, key: str = "spring-1", caller: str = "ada") -> str:
    """Start one; returns the path of its status."""
    answer = ask(shop, key, caller)
    assert answer.status == 202, answer.text
    return answer.headers["location"]


def status(shop: Shop, path: str, caller: str = "ada") -> dict[str, Any]:
    answer = shop.get(path, caller)
    assert answer.status == 200, answer.text
    document: dict[str, Any] = answer.json
    return document


def got(shop: Shop) -> Counter[str]:
    """How many different mails each recipient got."""
    return Counter(mail.to for mail in shop.mailer.mails.values())


def each_once(count: int, owner: str = "ada") -> Counter[str]:
    return Counter(address(number, owner) for number in range(1, count + 1))


def steps_run(shop: Shop) -> int:
    return len(shop.outcomes("campaigns"))
