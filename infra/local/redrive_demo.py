"""`make redrive-demo`: five redrives with the AWS CLI, on the real clock. Each step is checked.

Nothing of ours takes part in a redrive: SQS moves the messages, and the functions cope with what comes.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.discovery import job_types
from handlers.postroom.jobs import CallJob
from handlers.providers import mail_smtp
from infra.local.aws_cli import AwsCli
from infra.local.cart import cart
from infra.local.client import jobs_of
from infra.local.doomed import Doomed
from infra.local.functions import FunctionSettings, InProcess, Runner, process_environ
from infra.local.local_run import LocalRun, RunOptions
from infra.local.shop_story import SOON_SECONDS, Story
from infra.local.story import NotAsToldError
from infra.local.waiting import wait_for

ATTEMPTS = 3
TIMEOUT_SECONDS = 2
RECEIVES = 4
HASTE = (
    f"So that nobody waits for hours: receipts are tried {ATTEMPTS} times, and the queues of loyalty and "
    f"warehouse hand a message out {RECEIVES} times, {TIMEOUT_SECONDS} s apart."
)


class Redeployable:
    """A function whose code can be exchanged while its queue goes on."""

    def __init__(self, runner: Runner) -> None:
        self._usual = self._now = runner

    def deploy(self, runner: Runner | None = None) -> None:
        """Put other code in its place, or the right one again."""
        self._now = runner or self._usual

    def run(self, event: Any, context: Any) -> Any:
        return self._now.run(event, context)

    def refresh(self) -> None:
        self._now.refresh()

    def close(self) -> None:
        self._usual.close()


@dataclass(frozen=True)
class Redrives:
    """The story, and the AWS CLI with which it is told."""

    story: Story
    aws: AwsCli

    @property
    def run(self) -> LocalRun:
        return self.story.run

    def order(self, caller: str, email: str) -> str:
        client = self.story.client(caller)
        answer = client.command("/checkout", "order-1", cart(email))
        self.story.tell(f"{caller} orders: {answer.status}, Location {answer.headers['location']}")
        client.close()
        return str(answer.json["jobId"])

    def state(self, caller: str, event_id: str, subscriber: str) -> str:
        return str(self._jobs(caller, event_id)[subscriber]["state"])

    def attempts(self, caller: str, event_id: str, subscriber: str) -> int:
        return int(self._jobs(caller, event_id)[subscriber]["attempts"])

    def becomes(self, caller: str, event_id: str, subscriber: str, state: str) -> None:
        """Wait until a job is in a state. Raises `TimeoutError`."""
        wait_for(
            lambda: self.state(caller, event_id, subscriber) == state,
            2 * SOON_SECONDS,
            f"{subscriber} of {event_id}: {state}",
        )

    def letters(self, name: str, count: int) -> None:
        """Wait until a dead-letter queue holds so many messages. Raises `TimeoutError`."""
        holds = lambda: self.story.facts.queue(f"{name}DeadLetterQueue")[0] == count  # noqa: E731
        wait_for(holds, 2 * SOON_SECONDS, f"{count} dead letters of {name}")

    def arn(self, logical_id: str) -> str:
        return self.run.aws.sqs.queue(self.run.stack.ref(logical_id)).arn

    def redrive(self, name: str) -> dict[str, Any]:
        """Start a move task and wait for its end; its entry in the list."""
        arn = self.arn(f"{name}DeadLetterQueue")
        self.aws("sqs", "start-message-move-task", "--source-arn", arn)
        while True:
            (task,) = self.aws("sqs", "list-message-move-tasks", "--source-arn", arn)["Results"]
            if task["Status"] not in ("RUNNING", "CANCELLING"):
                moved, of = (
                    task["ApproximateNumberOfMessagesMoved"],
                    task["ApproximateNumberOfMessagesToMove"],
                )
                why = f", FailureReason {task['FailureReason']}" if "FailureReason" in task else ""
                self.story.tell(f"{task['Status']}: {moved} of {of} moved{why}")
                return dict(task)

    def function(self, name: str) -> Redeployable:
        runner = self.run.stack.functions[name].runner
        assert isinstance(runner, Redeployable)
        return runner

    def doomed(self, name: str, handler: str = "") -> Doomed:
        settings = self.run.stack.functions[name].settings
        environ = {**process_environ(settings, self.run.aws.region.name), **self.aws.environ}
        return Doomed(environ, handler)

    def mails_to(self, address: str) -> int:
        return sum(len(mail.times) for mail in self.run.mailbox.mails if address in mail.recipients)

    def _jobs(self, caller: str, event_id: str) -> dict[str, Any]:
        client = self.story.client(caller)
        try:
            return jobs_of(client.get(f"/jobs/{event_id}").json)
        finally:
            client.close()


def redrive_demo(program: Path) -> int:
    """Tell the story. Returns 0, or 1 when a step is not as it should be."""
    logging.disable(logging.CRITICAL)
    console = Console(soft_wrap=True)
    console.print("Five redrives with the AWS CLI, on a model of AWS in memory: real HTTP, SMTP and clock.")
    console.print(HASTE)
    run = LocalRun(RunOptions(changes={**_hasty("Loyalty"), **_hasty("Warehouse")}))
    run.use(_runner)
    run.start()
    story = Story(console, run)
    aws = AwsCli(program, run.urls.aws, run.aws.region.name, story.tell)
    console.print(f"`aws` stands for: aws --endpoint-url {run.urls.aws} --region {aws.region}")
    try:
        for step in CHAPTERS:
            step(Redrives(story, aws))
        console.print("\n[green]All as it should be.[/green]")
    except (NotAsToldError, TimeoutError, RuntimeError) as error:
        console.print(f"\n[red]Not as it should be:[/red] {error}", markup=True)
        return 1
    finally:
        run.stop()
        logging.disable(logging.NOTSET)
    return 0


def retries_used_up(demo: Redrives) -> None:
    """Dead after its last attempt; redriven when the provider is back."""
    demo.story.chapter("1. All retries used up: the mail server was down for too long")
    check, address = demo.story.check, "ada@example.com"
    demo.run.switches["mail"].fail()
    event = demo.order("ada", address)
    demo.becomes("ada", event, "receipts", "dead")
    check(True, f"receipts: dead after {demo.attempts('ada', event, 'receipts')} attempts")
    demo.letters("Receipts", 1)
    demo.run.switches["mail"].mend()
    demo.story.tell("the mail server works again")
    demo.redrive("Receipts")
    demo.becomes("ada", event, "receipts", "completed")
    check(demo.mails_to(address) == 1, "receipts: completed, one mail")
    task = demo.redrive("Receipts")
    check(task["ApproximateNumberOfMessagesMoved"] == 0, "redriven a second time: nothing is left to move")
    check(demo.mails_to(address) == 1, "one mail still")


def dead_for_good(demo: Redrives) -> None:
    """Dead after one run; a repeat of the event changes nothing, a redrive of the mended order does."""
    demo.story.chapter("2. Dead after one run: the order's mail address is none")
    check, address = demo.story.check, "bola@example.com"
    event = demo.order("bola", "bola.example.com")
    demo.becomes("bola", event, "receipts", "dead")
    check(demo.attempts("bola", event, "receipts") == 1, "receipts: dead after 1 attempt")
    demo.letters("Receipts", 1)
    _mend_address(demo, event, address)
    _repeat(demo, event)
    _all_taken(demo)
    check(demo.state("bola", event, "receipts") == "dead", "the event again, from the topic: reopens nothing")
    demo.redrive("Receipts")
    demo.becomes("bola", event, "receipts", "completed")
    check(demo.mails_to(address) == 1, "receipts: completed, one mail")


def crashed_every_time(demo: Redrives) -> None:
    """No run ever reported; nothing is known of the job but its message."""
    demo.story.chapter("3. The worker crashed every time: a release that is killed on every call")
    demo.function("LoyaltyFunction").deploy(demo.doomed("LoyaltyFunction"))
    event = demo.order("chidi", "chidi@example.com")
    demo.letters("Loyalty", 1)
    points = demo.story.facts.points
    demo.story.check(points("chidi") == 0, f"loyalty: killed {RECEIVES} times, no points")
    demo.function("LoyaltyFunction").deploy()
    demo.story.tell("the release is rolled back")
    demo.redrive("Loyalty")
    demo.becomes("chidi", event, "loyalty", "completed")
    demo.story.check(points("chidi") == 204, "loyalty: completed, 204 points")


def succeeded_in_truth(demo: Redrives) -> None:
    """The effect is there; only the acknowledgement never came."""
    demo.story.chapter("4. It had in truth succeeded: killed each time after the work was done")
    function = demo.function("WarehouseFunction")
    function.deploy(demo.doomed("WarehouseFunction", "handlers.queue_warehouse.handler"))
    before = demo.story.facts.effects()["picks"]
    event = demo.order("dayo", "dayo@example.com")
    demo.letters("Warehouse", 1)
    demo.story.check(demo.story.facts.effects()["picks"] == before + 1, "one pick, and yet a dead letter")
    function.deploy()
    demo.redrive("Warehouse")
    _all_taken(demo)
    demo.story.check(demo.state("dayo", event, "warehouse") == "completed", "warehouse: completed")
    demo.story.check(demo.story.facts.effects()["picks"] == before + 1, "one pick still: one parcel")


def sent_there_directly(demo: Redrives) -> None:
    """What a program puts into a dead-letter queue itself, SQS cannot bring home."""
    demo.story.chapter("5. The wrong way: a message sent to the dead-letter queue directly")
    url = demo.run.stack.ref("InvoicesDeadLetterQueue")
    demo.aws("sqs", "send-message", "--queue-url", url, "--message-body", '{"lost": true}')
    task = demo.redrive("Invoices")
    reason = task.get("FailureReason")
    demo.story.check(reason == "CouldNotDetermineMessageSource", f"FAILED, as on AWS: {reason}")
    demo.letters("Invoices", 1)
    demo.story.check(True, "the message is still there. Nothing of ours ever sends to a dead-letter queue")


CHAPTERS: tuple[Callable[[Redrives], None], ...] = (
    retries_used_up,
    dead_for_good,
    crashed_every_time,
    succeeded_in_truth,
    sent_there_directly,
)


def _hasty(name: str) -> dict[str, dict[str, Any]]:
    target = {"Fn::GetAtt": [f"{name}DeadLetterQueue", "Arn"]}
    policy = {"deadLetterTargetArn": target, "maxReceiveCount": RECEIVES}
    return {f"{name}Queue": {"VisibilityTimeout": TIMEOUT_SECONDS, "RedrivePolicy": policy}}


def _runner(settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
    usual = next(each for each in job_types("handlers") if each.subscriber == "receipts")
    assert isinstance(usual, CallJob)
    hasty = replace(usual, retry=replace(usual.retry, attempts=ATTEMPTS))
    receipts = queue_handler(hasty, provider=mail_smtp.from_deployment)
    entry = receipts if settings.name == "ReceiptsFunction" else None
    return Redeployable(InProcess(settings.handler, surroundings, entry))


def _told(task: Mapping[str, Any]) -> str:
    moved, of = (task[f"ApproximateNumberOfMessages{what}"] for what in ("Moved", "ToMove"))
    why = f", FailureReason {task['FailureReason']}" if "FailureReason" in task else ""
    return f"{task['Status']}: {moved} of {of} moved{why}"


def _mend_address(demo: Redrives, event_id: str, address: str) -> None:
    order = next(one for one in demo.story.facts.orders() if f'"{event_id}"' in one["event"]["S"])
    key = f'{{"pk": {{"S": "{order["pk"]["S"]}"}}, "sk": {{"S": "entity"}}}}'
    demo.aws(
        *("dynamodb", "update-item", "--table-name", demo.run.stack.ref("ShopTable"), "--key", key),
        *("--update-expression", "SET email = :email"),
        *("--expression-attribute-values", f'{{":email": {{"S": "{address}"}}}}'),
    )


def _repeat(demo: Redrives, event_id: str) -> None:
    """What the relay does when it has crashed between publishing and marking."""
    attributes = (
        "type={DataType=String,StringValue=order.paid},publication={DataType=String,StringValue=again}"
    )
    topic = demo.run.stack.ref("EventsTopic")
    event = demo.story.facts.event_of(event_id)
    demo.aws("sns", "publish", "--topic-arn", topic, "--message", event, "--message-attributes", attributes)


def _all_taken(demo: Redrives) -> None:
    queues = [f"{name}Queue" for name in ("Receipts", "Invoices", "Loyalty", "Warehouse")]
    wait_for(lambda: demo.story.facts.backlog(queues) == 0, SOON_SECONDS, "all queues empty")


if __name__ == "__main__":
    sys.exit(redrive_demo(Path(sys.argv[1])))
