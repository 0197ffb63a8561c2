"""An operator at work: letters redriven or passed over by command, tried again until it has gone well."""

from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from handlers.postroom.errors import PostroomError
from infra.ops.core import redrive, skip
from infra.ops.core.queues import DeadLetterQueue, queues
from infra.ops.core.redrive import Filter
from infra.ops.core.target import Resource, Target
from infra.testkit.faults import Killed
from tests.faults.client import TRIES
from tests.faults.world import World

Act = Callable[[Target, DeadLetterQueue], bool]

OPERATOR = "Operator"
EVERY_ERROR = Filter(error="e")
PATIENCE_SECONDS = 130.0
"""Longer than a run that was killed keeps the letters it had in hand."""


def redriven(target: Target, pair: DeadLetterQueue) -> bool:
    """`postroom dlq redrive`. Whether it went well, as far as the operator can tell."""
    resent = redrive.resend(target, pair, EVERY_ERROR, lambda _done, _of: None)
    # a letter whose receive got lost is in nobody's hands for a while, and only the depth tells of it
    return len(resent.sent) >= pair.dead.depth


def passed_over(target: Target, pair: DeadLetterQueue) -> bool:
    """`postroom dlq skip`."""
    came = skip.skip(target, pair, EVERY_ERROR, "told on the phone", lambda _done, _of: None)
    return len(came.done) >= pair.dead.depth


def by_command(world: World, subscriber: str, act: Act = redriven) -> None:
    world.act = act
    if act is redriven:
        world.redriven.add(subscriber)
    for _ in range(TRIES):
        if act_once(world, subscriber):
            return
        world.pass_time(PATIENCE_SECONDS)


def act_once(world: World, subscriber: str) -> bool:
    with world.rig.gate.running(OPERATOR):
        try:
            target = _target(world)
            return bool(world.act(target, queues(target).of(subscriber)))
        except (Killed, ClientError, BotoCoreError, PostroomError):
            return False


def _target(world: World) -> Target:
    kinds = {"AWS::DynamoDB::Table", "AWS::SQS::Queue"}
    resources = [
        Resource(logical_id, kind, world.stack.ref(logical_id))
        for kind in kinds
        for logical_id, _ in world.stack.deployed.of_type(kind)
    ]
    clock = world.clock
    made = Target("local", world.rig.session, resources, clock=clock.now, sleep=clock.advance, by="operator")
    vars(made)["job_types"] = world.job_types
    return made
