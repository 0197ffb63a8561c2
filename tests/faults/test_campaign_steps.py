"""Every call of a campaign's steps fails once in every way: each recipient still gets exactly one mail."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.expressions import key_attributes, to_attributes
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.storage import Put
from handlers.queue_campaign_mails import send_campaign_mail
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from infra.local.functions import Context, FunctionSettings, Runner
from infra.local.http_messages import HttpAnswer
from infra.local.stack import Options, Stack
from infra.testkit.gate import Plan, Spot
from infra.testkit.rig import Rig
from tests.faults.providers import Mailroom
from tests.faults.template import parameters, template_for

STEPS = "CampaignsFunction"
RECIPIENTS, STEP_RECIPIENTS = 6, 4
HOUR_SECONDS = 3_600.0
AUDIENCE = Audience("ada", "spring")


@dataclass(frozen=True)
class Noting:
    """Notes what the function is called with, so that it can be called with it again."""

    inner: Runner
    events: list[Any]

    def run(self, event: Any, context: Context) -> Any:
        self.events.append(event)
        return self.inner.run(event, context)

    def refresh(self) -> None:
        self.inner.refresh()

    def close(self) -> None:
        self.inner.close()


class Post:
    """A deployed shop with an audience, one call of whose campaign's steps may fail."""

    def __init__(self, plan: Plan | None) -> None:
        self.rig = Rig(plan)
        self.mailroom = Mailroom()
        self.step_events: list[Any] = []
        mails = queue_handler(send_campaign_mail, provider=lambda _: self.mailroom)
        self._runner = self.rig.runner({"handlers.queue_campaign_mails.handler": mails})
        overrides = {"STEP_RECIPIENTS": str(STEP_RECIPIENTS)}
        options = Options(runner=self._noting, overrides=overrides)
        self.stack = Stack(template_for(()), parameters(), self.rig.aws, options)
        self.rig.gate.watched = frozenset({STEPS})
        self.rig.gate.meanwhile = lambda _site: self._repeat_step()
        self._fill()

    def start(self) -> str:
        body = {"audience": AUDIENCE.name, "subject": "Spring", "text": "Come."}
        headers = {"content-type": "application/json", "idempotency-key": "k"}
        answer = self.stack.call("POST", "/campaigns", headers, json.dumps(body), subject=AUDIENCE.owner)
        return answer.headers["location"]

    def drain(self) -> None:
        self.rig.drain(self.stack.mappings, self.rig.clock.now() + 10 * HOUR_SECONDS)

    def status(self, path: str) -> HttpAnswer:
        return self.stack.call("GET", path, subject=AUDIENCE.owner)

    def waiting(self, queue: str) -> int:
        return len(self.rig.aws.sqs.queue(self.stack.ref(queue)).messages)

    def _noting(self, settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
        runner = self._runner(settings, surroundings)
        return Noting(runner, self.step_events) if settings.name == STEPS else runner

    def _repeat_step(self) -> None:
        """SQS hands the same message out a second time, while the first is being worked on."""
        self.stack.functions[STEPS].invoke(self.step_events[-1])

    def _fill(self) -> None:
        self._put(audiences.head(AUDIENCE, Size(RECIPIENTS, RECIPIENTS)))
        for number in range(1, RECIPIENTS + 1):
            self._put(audiences.recipient(AUDIENCE, number, f"r{number}@example.com", "R"))

    def _put(self, put: Put) -> None:
        item = {**to_attributes(put.item), **key_attributes(put.key)}
        self.rig.aws.request("dynamodb", "PutItem", {"TableName": self.stack.ref("ShopTable"), "Item": item})


def undisturbed() -> list[Spot]:
    post = Post(None)
    post.start()
    post.drain()
    return post.rig.gate.calls


def problems_with(plan: Plan) -> list[str]:
    """What is not as it should be after everything has come to rest."""
    post = Post(plan)
    path = post.start()
    post.drain()

    status = post.status(path).json
    mails = Counter({name: len(copies) for name, copies in post.mailroom.mails.items()})
    found = []
    if not post.rig.gate.struck:
        found.append("the fault was never played")
    if status["state"] != "completed" or status["progress"] != {"enqueued": RECIPIENTS, "of": RECIPIENTS}:
        found.append(f"the campaign is {status['state']}, {status['progress']}")
    if len(mails) != RECIPIENTS or set(mails.values()) != {1}:
        found.append(f"mails: {dict(mails)}")
    if post.waiting("CampaignsDeadLetterQueue") or post.waiting("CampaignMailsDeadLetterQueue"):
        found.append("there are dead letters")
    return [f"{plan}: {each}" for each in found]


def test_whatever_fails_in_a_step_each_recipient_gets_one_mail() -> None:
    spots = undisturbed()
    plans = [Plan(spot, fault) for spot in spots for fault in spot.faults]

    broken = [problem for plan in plans for problem in problems_with(plan)]

    assert {spot.site.operation for spot in spots} == {
        "BatchGetItem",
        "Query",
        "SendMessageBatch",
        "TransactWriteItems",
    }
    assert broken == []
