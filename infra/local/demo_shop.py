"""The demo's second half: a webhook, a reminder, a statement, a password link that overtakes a campaign."""

from __future__ import annotations

import json
import time
from typing import Any

from infra.local.blast import CAMPAIGN, fill_audience
from infra.local.cart import cart
from infra.local.client import jobs_of
from infra.local.providers.webhooks import Received
from infra.local.shop_story import SOON_SECONDS, Story
from infra.local.waiting import wait_for

REMIND_IN_SECONDS = 2
MOVEMENTS = (("credits", 500_000), ("credits", 250_000), ("charges", 100_000), ("charges", 50_000))
BALANCES = [500_000, 750_000, 650_000, 600_000]
"""In kobo, after each of them."""
RECIPIENTS = 500


def a_webhook(story: Story) -> None:
    """A caller's own URL hears how each job of an order has ended, signed."""
    story.chapter("A webhook")
    client = story.client("dayo")
    url = f"{story.run.urls.webhooks}/dayo"
    registered = client.command("/webhooks", "hook-1", {"url": url})
    story.check(registered.status == 201, f"POST /webhooks: {registered.status}, with a secret of its own")
    location = client.command("/checkout", "order-1", cart("dayo@example.com")).headers["location"]
    names = set(jobs_of(client.follow(location, SOON_SECONDS)))
    wait_for(lambda: len(_heard(story, url)) >= len(names), SOON_SECONDS, "a webhook for each job")
    heard = _heard(story, url)
    story.check({_job(each) for each in heard} == names, f"told of {', '.join(sorted(names))}")
    story.check(all(each.valid and each.status == 204 for each in heard), "every signature is good")
    story.check(len({each.id for each in heard}) == len(names), "each under an id of its own")
    client.close()


def a_reminder(story: Story) -> None:
    """Asked for now, due in two seconds, sent then and not before."""
    story.chapter("A reminder")
    client = story.client("ada")
    asked = {"email": "remind@example.com", "text": "Water the garden", "inSeconds": REMIND_IN_SECONDS}
    begun = time.time()
    answer = client.command("/reminders", "remind-1", asked)
    story.check(answer.status == 202, f"POST /reminders, in {REMIND_IN_SECONDS} s: {answer.status}")
    wait_for(lambda: bool(_arrivals(story, "remind@example.com")), SOON_SECONDS, "the reminder's mail")
    took = _arrivals(story, "remind@example.com")[0] - begun
    # due at a whole second
    story.check(took >= REMIND_IN_SECONDS - 1, f"its mail came after {took:.1f} s, and not before it was due")
    client.close()


def a_statement(story: Story) -> None:
    """Movements of one account, one right after the other: its statement has them in their order."""
    story.chapter("An account, in order")
    client = story.client("ada")
    for number, (kind, amount) in enumerate(MOVEMENTS):
        answer = client.command(f"/wallet/{kind}", f"move-{number}", {"amount": amount})
        story.check(answer.status == 202, f"POST /wallet/{kind} of {amount:,} kobo: {answer.status}")
    wait_for(lambda: len(_lines(story)) == len(MOVEMENTS), SOON_SECONDS, "a line for each movement")
    story.check(
        _lines(story) == BALANCES, f"the statement: {' → '.join(f'{each:,}' for each in _lines(story))}"
    )
    story.check(_foot(story) == BALANCES[-1], f"it closes with {_foot(story):,} kobo")
    client.close()


def a_password_link(story: Story) -> None:
    """Asked for behind a campaign to very many, and sent before it: it has a lane of its own."""
    story.chapter("A password link behind a campaign")
    fill_audience(story.run, RECIPIENTS)
    tenant, customer = story.client("ada"), story.client("efe")
    signed_up = customer.command("/signup", "efe", {"name": "Efe", "email": "efe@example.com"})
    customer.follow(signed_up.headers["location"], SOON_SECONDS)
    # a kept connection does not outlive the seconds until it is used again
    customer.close()
    campaign = tenant.command("/campaigns", "spring", CAMPAIGN).headers["location"]
    tenant.follow(campaign, 2 * SOON_SECONDS, until=_is_handed_out)
    story.tell(f"a campaign has put {RECIPIENTS:,} mails into the bulk lane")
    begun = time.time()
    customer.command("/password-resets", "reset-1", {})
    wait_for(lambda: len(_arrivals(story, "efe@example.com")) == 2, SOON_SECONDS, "the link's mail")
    took, waiting = _arrivals(story, "efe@example.com")[-1] - begun, _in_the_bulk_lane(story)
    story.check(waiting > 0, f"the link came after {took:.1f} s; {waiting:,} of the campaign still wait")
    stopped = tenant.delete(campaign)
    story.check(stopped.status in (200, 202), f"DELETE of the campaign: {stopped.status}, no more is sent")
    wait_for(lambda: not _in_the_bulk_lane(story), 2 * SOON_SECONDS, "the bulk lane empty")
    tenant.close()
    customer.close()


def _heard(story: Story, url: str) -> list[Received]:
    return [each for each in story.run.receiver.received if each.url == url]


def _job(received: Received) -> str:
    return str(json.loads(received.body)["data"]["id"]).rpartition(":")[2]


def _arrivals(story: Story, address: str) -> list[float]:
    mails = [mail for mail in story.run.mailbox.mails if address in mail.recipients]
    return sorted(at for mail in mails for at in mail.times)


def _lines(story: Story) -> list[int]:
    items = [item for item in story.facts.items("ShopTable") if item["sk"]["S"].startswith("statement-")]
    return [int(item["balance"]["N"]) for item in sorted(items, key=lambda item: item["sk"]["S"])]


def _foot(story: Story) -> int:
    feet = (item for item in story.facts.items("ShopTable") if item["sk"]["S"] == "statement")
    return int(next(feet)["balance"]["N"])


def _is_handed_out(status: Any) -> bool:
    progress = status.get("progress", {})
    return bool(progress.get("enqueued") == progress.get("of"))


def _in_the_bulk_lane(story: Story) -> int:
    return story.facts.backlog(["CampaignMailsQueue"])


SHOP = (a_webhook, a_reminder, a_statement, a_password_link)
