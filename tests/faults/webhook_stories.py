"""What callers hear by webhook, which may take days."""

from tests.faults.world import World

TWO_HOURS = 7_200.0
HOOK = {"url": "https://hooks.example.com/alice"}


def heard(world: World) -> None:
    register(world)
    world.clients.order("alice", "k-1")
    world.clients.order("bob", "k-1")
    world.quiet()


def heard_at_last(world: World) -> None:
    """The receiver is out of order for two hours: the waits between the attempts get long."""
    register(world)
    world.receiver.down_until = world.clock.now() + TWO_HOURS
    world.clients.order("alice", "k-1")
    world.quiet()


def managed(world: World) -> None:
    """Registered, looked at, rotated, pinged; a second one removed again."""
    hook = register(world)
    other = register(world, key="k-2")
    world.clients.ask("alice", "GET /webhooks", {}, 200)
    world.clients.ask("alice", f"GET /webhooks/{hook}", {}, 200)
    world.clients.ask("alice", f"POST /webhooks/{hook}/rotate", {}, 200)
    world.clients.ask("alice", f"POST /webhooks/{hook}/ping", {})
    world.clients.ask("alice", f"DELETE /webhooks/{other}", {}, 204)
    world.quiet()


def register(world: World, key: str = "k-1") -> str:
    asked = world.clients.ask("alice", "POST /webhooks", HOOK, 201, key=key)
    return str(asked.answers[-1].json["id"]) if asked.answers[-1].status == 201 else "unknown"
