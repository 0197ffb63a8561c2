"""An operator at work: `postroom dlq redrive` of some letters, tried again until it has gone well."""

from botocore.exceptions import BotoCoreError, ClientError

from handlers.postroom.errors import PostroomError
from infra.ops.core import redrive
from infra.ops.core.queues import queues
from infra.ops.core.redrive import Filter
from infra.ops.core.target import Resource, Target
from infra.testkit.faults import Killed
from tests.faults.client import TRIES
from tests.faults.world import World

OPERATOR = "Operator"
PATIENCE_SECONDS = 130.0
"""Longer than a run that was killed keeps the letters it had in hand."""


def redrive_by_command(world: World, subscriber: str) -> None:
    world.redriven.add(subscriber)
    for _ in range(TRIES):
        if redrive_once(world, subscriber):
            return
        world.pass_time(PATIENCE_SECONDS)


def redrive_once(world: World, subscriber: str) -> bool:
    """Whether it went well, as far as the operator can tell."""
    with world.rig.gate.running(OPERATOR):
        try:
            target = _target(world)
            pair = queues(target).of(subscriber)
            resent = redrive.resend(target, pair, Filter(error="e"), lambda _done, _of: None)
        except (Killed, ClientError, BotoCoreError, PostroomError):
            return False
    # a letter whose receive got lost is in nobody's hands for a while, and only the depth tells of it
    return len(resent.sent) >= pair.dead.depth


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
