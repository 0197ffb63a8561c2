"""`demo`: the story by itself, on the real clock, with real HTTP and SMTP. Each step is checked."""

from __future__ import annotations

import logging
import time
from typing import Any

from rich.console import Console

from infra.local.cart import cart
from infra.local.client import jobs_of
from infra.local.demo_shop import SHOP
from infra.local.local_run import LocalRun, RunOptions
from infra.local.shop_story import SOON_SECONDS, Story
from infra.local.story import NotAsToldError
from infra.local.waiting import wait_for

OUTAGE_SECONDS = 3.0


def demo() -> int:
    """Tell the story. Returns 0, or 1 when a step is not as it should be."""
    logging.disable(logging.CRITICAL)
    console = Console()
    console.print("Postroom, on a model of AWS in memory: real HTTP, real SMTP, the real clock.")
    run = LocalRun(RunOptions())
    run.start()
    story = Story(console, run)
    try:
        for step in (an_order, an_outage, a_poison_message, a_duplicate_delivery, *SHOP):
            step(story)
        console.print("\n[green]All as it should be.[/green]")
    except (NotAsToldError, TimeoutError) as error:
        console.print(f"\n[red]Not as it should be:[/red] {error}")
        return 1
    finally:
        run.stop()
        logging.disable(logging.NOTSET)
    return 0


def an_order(story: Story) -> None:
    """Answered at once; then receipt, invoice, points and pick, each once."""
    story.chapter("An order")
    client = story.client("ada")
    begun = time.monotonic()
    answer = client.command("/checkout", "order-1", cart("ada@example.com"))
    took = (time.monotonic() - begun) * 1000
    story.check(
        answer.status == 202, f"POST /checkout: {answer.status} in {took:.0f} ms, {answer.json['status']}"
    )
    story.tell(f"Location: {answer.headers['location']}")
    status = client.follow(answer.headers["location"], SOON_SECONDS)
    states = {name: job["state"] for name, job in jobs_of(status).items()}
    story.check(set(states.values()) == {"completed"}, f"completed: {', '.join(states)}")
    mail = story.run.mailbox.mails[0]
    story.check(story.run.mailbox.arrivals == 1, f"one mail: “{mail.subject}”")
    story.check(story.facts.points("ada") == 204, "204 points for 2,042,500 kobo")
    story.check(story.facts.effects()["picks"] == 1, "one pick in the warehouse")
    story.check(
        story.facts.effects()["invoices"] == 1, f"one invoice: {_result(status, 'invoices')['location']}"
    )
    again = client.command("/checkout", "order-1", cart("ada@example.com"))
    story.check(
        again.body == answer.body, "pressed again: the same answer, byte for byte, and no second order"
    )
    client.close()


def an_outage(story: Story) -> None:
    """The mail server is down: the order is taken all the same, and the receipt follows."""
    story.chapter("The mail server is down")
    client = story.client("bola")
    story.run.switches["mail"].fail()
    answer = client.command("/checkout", "order-1", cart("bola@example.com"))
    story.check(answer.status == 202, f"POST /checkout: {answer.status}, as if nothing were wrong")
    path = answer.headers["location"]
    status = client.follow(path, SOON_SECONDS, until=_only_receipts_left)
    story.check(_state(status, "receipts") == "retrying", f"receipts: retrying. {_error(status, 'receipts')}")
    story.check(
        _state(status, "invoices") == "completed", "invoices, loyalty, warehouse: completed meanwhile"
    )
    time.sleep(OUTAGE_SECONDS)
    story.run.switches["mail"].mend()
    story.tell(f"after {OUTAGE_SECONDS:.0f} s the mail server works again")
    status = client.follow(path, 4 * SOON_SECONDS)
    attempts = jobs_of(status)["receipts"]["attempts"]
    story.check(_state(status, "receipts") == "completed", f"receipts: completed on attempt {attempts}")
    story.check(_mails_to(story, "bola@example.com") == 1, "one mail, not one for each attempt")
    client.close()


def a_poison_message(story: Story) -> None:
    """What can never succeed is in the dead-letter queue after one run, moved there by SQS."""
    story.chapter("A mail address that is none")
    client = story.client("chidi")
    answer = client.command("/checkout", "order-1", cart("chidi.example.com"))
    status = client.follow(answer.headers["location"], SOON_SECONDS)
    job = jobs_of(status)["receipts"]
    story.check(
        job["state"] == "dead" and job["attempts"] == 1, f"receipts: dead after {job['attempts']} attempt"
    )
    story.tell(job["error"])
    took = wait_for(lambda: _dead_letters(story) == 1, SOON_SECONDS, "the message in the dead-letter queue")
    story.tell(f"in the dead-letter queue {took:.1f} s later, with the queue's visibility timeout at 180 s")
    source = _dead_letter_source(story)
    story.check(
        source.endswith("receipts"), f"moved there by SQS itself: DeadLetterQueueSourceArn = {source}"
    )
    status = client.follow(answer.headers["location"], SOON_SECONDS, until=_only_receipts_failed)
    others = [name for name in jobs_of(status) if name != "receipts"]
    story.check(bool(others), f"{', '.join(others)}: completed")
    client.close()


def a_duplicate_delivery(story: Story) -> None:
    """The same event twice more: a naive consumer ends at 612 points."""
    story.chapter("One event, delivered three times")
    before = story.facts.effects()
    client = story.client("ada")
    event = story.facts.event_of(
        client.command("/checkout", "order-1", cart("ada@example.com")).json["jobId"]
    )
    client.close()
    for _ in range(2):
        _publish(story, event)
    story.tell("published again, twice, each as a new message to every subscriber")
    wait_for(lambda: not story.facts.backlog(), SOON_SECONDS, "all queues empty")
    story.check(story.facts.points("ada") == 204, "204 points still (added up three times it would be 612)")
    story.check(story.facts.effects() == before, "no second mail, invoice or pick")
    story.check(_mails_to(story, "ada@example.com") == 1, "one mail came over the wire in all")


def _publish(story: Story, event: str) -> None:
    story.run.aws.session().client("sns").publish(
        TopicArn=story.run.stack.ref("EventsTopic"),
        Message=event,
        MessageAttributes={
            "type": {"DataType": "String", "StringValue": "order.paid"},
            "publication": {"DataType": "String", "StringValue": f"repeat-{time.monotonic_ns()}"},
        },
    )


def _only_receipts_left(status: Any) -> bool:
    return _only_receipts_failed(status) and _state(status, "receipts") == "retrying"


def _only_receipts_failed(status: Any) -> bool:
    return {name for name, job in jobs_of(status).items() if job["state"] != "completed"} == {"receipts"}


def _state(status: Any, subscriber: str) -> str:
    return str(jobs_of(status)[subscriber]["state"])


def _error(status: Any, subscriber: str) -> str:
    return str(jobs_of(status)[subscriber].get("error", ""))


def _result(status: Any, subscriber: str) -> dict[str, Any]:
    return dict(jobs_of(status)[subscriber]["result"])


def _mails_to(story: Story, address: str) -> int:
    return sum(len(mail.times) for mail in story.run.mailbox.mails if address in mail.recipients)


def _dead_letters(story: Story) -> int:
    return story.facts.queue("ReceiptsDeadLetterQueue")[0]


def _dead_letter_source(story: Story) -> str:
    aws = story.run.aws
    with aws.region.changed:
        message = aws.sqs.queue(story.run.stack.ref("ReceiptsDeadLetterQueue")).messages[0]
    return message.source_arn or ""
