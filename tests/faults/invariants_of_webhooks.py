"""Invariant 9: every end is heard, signed, under one id."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handlers.postroom.storage import Item
from handlers.postroom.webhooks.outcomes import TOLD_OF
from handlers.postroom.webhooks.registry import registry_key, webhooks_in
from handlers.postroom.webhooks.signing import is_signed
from tests.faults.providers import Post
from tests.faults.states import MARKERS, tabled
from tests.faults.world import World

Findings = Iterator[str]


def webhooks_hear_every_end(world: World) -> Findings:
    """Each end of a job that came after its owner's webhook is told, and taken, at least once."""
    heard = {(post.told["type"], post.told["data"]["id"]) for post in world.receiver.posts if post.taken}
    for owner, hooks in _registries(world).items():
        since = min((hook.created_at for hook in webhooks_in(hooks)), default=None)
        for kind, job_id, ended_at in _ends(world, owner):
            if since is not None and ended_at >= since * 1000 and (kind, job_id) not in heard:
                yield f"{owner} never heard {kind} of {job_id}"


def one_message_has_one_id_and_one_body(world: World) -> Findings:
    """However often it is sent; and no two messages to one webhook tell the same."""
    bodies, ids = defaultdict(set), defaultdict(set)
    for post in world.receiver.posts:
        bodies[post.id].add(post.body)
        ids[post.told["type"], post.told["data"]["id"]].add(post.id)
    for message_id, different in bodies.items():
        if len(different) > 1:
            yield f"{message_id} came as {len(different)} different texts"
    hooks = sum(len(webhooks_in(each)) for each in _registries(world).values())
    for (kind, subject), several in ids.items():
        if len(several) > max(1, hooks) and kind != "job.dead":
            yield f"{kind} of {subject} came under {len(several)} ids"


def webhooks_are_signed(world: World) -> Findings:
    secrets = [
        secret.value
        for registry in _registries(world).values()
        for hook in webhooks_in(registry)
        for secret in hook.secrets
    ]
    for post in world.receiver.posts:
        if secrets and not any(_verifies(post, secret) for secret in secrets):
            yield f"{post.id} is signed by nobody's secret"


def _verifies(post: Post, secret: str) -> bool:
    return is_signed(secret, post.headers, post.body, post.at)


def _registries(world: World) -> Mapping[str, Item]:
    owners = {asked.caller for asked in world.clients.log}
    items = {(item["pk"], item["sk"]): item for item in world.shop_items}
    return {owner: items[key] for owner in owners if (key := registry_key(owner)[1:]) in items}


def _ends(world: World, owner: str) -> Iterator[tuple[str, str, int]]:
    for (event_id, subscriber), row in tabled(world).items():
        is_told = row.get("state") in TOLD_OF and subscriber not in ("webhooks", "campaign-mails")
        if is_told and row.get("owner") == owner:
            yield f"job.{row['state']}", f"{event_id}:{subscriber}", row["endedAt"]
    for item in world.shop_items:
        job: Mapping[str, Any] = item.get("job", {})
        if item["sk"] in MARKERS and job.get("owner") == owner:
            yield "job.completed", job["id"], job["endedAt"]


OF_WEBHOOKS: Mapping[str, Callable[[World], Findings]] = {
    "9 webhooks hear every end": webhooks_hear_every_end,
    "9 one message, one id, one body": one_message_has_one_id_and_one_body,
    "9 webhooks are signed": webhooks_are_signed,
}
