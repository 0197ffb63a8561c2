"""What happens by the clock: reminders, login codes, the nightly roll-up."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from handlers.postroom.errors import Transient
from handlers.postroom.storage import Put
from handlers.shop.rollup import MARK
from tests.faults.client import EMAIL_DOMAIN
from tests.faults.shop_stories import TEN_MINUTES, mailed, put
from tests.faults.world import DAY_SECONDS, World

TEN_HOURS = 36_000
THREE_MINUTES, FIVE_MINUTES_AND_MORE = 180.0, 370.0
REMIND = {"email": f"alice@{EMAIL_DOMAIN}", "text": "Water the garden"}
ROLLUP = "RollupFunction"
TICKS = 3


def reminded(world: World) -> None:
    """One by a delayed message, one by a schedule."""
    for key, seconds in (("k-1", TEN_MINUTES), ("k-2", TEN_HOURS)):
        world.clients.ask("alice", "POST /reminders", {**REMIND, "inSeconds": seconds}, key=key)
    world.quiet()


def listed_and_cancelled(world: World) -> None:
    """Of three, one is cancelled at once, and one when its timer is set."""
    for key, seconds in (("k-1", TEN_MINUTES), ("k-2", TEN_HOURS), ("k-3", TEN_HOURS)):
        world.clients.ask("alice", "POST /reminders", {**REMIND, "inSeconds": seconds}, key=key)
    _cancel(world, 0)
    world.pass_time(60)
    world.clients.ask("alice", "GET /reminders", {}, 200)
    _cancel(world, 1)
    world.quiet()


def _cancel(world: World, number: int) -> None:
    made = sorted(
        (item for item in world.shop_items if item["pk"].startswith("reminder-")),
        key=lambda item: (item["dueAt"], item["pk"]),
    )
    for item in made[number : number + 1]:
        route = f"DELETE /reminders/{item['pk'].removeprefix('reminder-')}"
        # a lost answer is asked for again, and then it is cancelled already
        world.clients.ask("alice", route, {}, 200, 202, 404, 409)


def logged_in(world: World) -> None:
    """The code is tried wrong, used, and tried again."""
    asked = world.clients.ask("alice", "POST /login-codes", {"email": f"alice@{EMAIL_DOMAIN}"})
    world.pass_time(60)
    for code in mailed(world, r"code is ([0-9]{6})"):
        for answer in asked.accepted[:1]:
            login = answer.json["jobId"].removeprefix("login-").removesuffix("-requested")
            use, wrong = f"POST /login-codes/{login}/use", f"{(int(code) + 1) % 10**6:06}"
            world.clients.ask("alice", use, {"code": wrong}, 404)
            # a lost answer is asked for again, and then the code is used
            world.clients.ask("alice", use, {"code": code}, 204, 404)
            world.clients.ask("alice", use, {"code": code}, 404, key="k-2")
    world.quiet()


def too_late(world: World) -> None:
    """Two codes; the mailer is out of order for longer than the second is of use."""
    world.clients.ask("alice", "POST /login-codes", {"email": f"alice@{EMAIL_DOMAIN}"})
    world.pass_time(60)
    world.mailroom.trouble = lambda: Transient("out of order", retry_after_seconds=THREE_MINUTES)
    world.clients.ask("bob", "POST /login-codes", {"email": f"bob@{EMAIL_DOMAIN}"})
    world.pass_time(FIVE_MINUTES_AND_MORE)
    world.mailroom.trouble = None
    world.quiet()


def three_nights(world: World) -> None:
    """Orders on two dates; nobody ticks in the first night, the second ticks twice, the third is late.

    Between the two ticks come sales that the relay has left to the sweep.
    """
    _rolled_up_before(world)
    world.clients.order("alice", "k-1")
    world.drain()
    tick(world)
    world.clock.advance(DAY_SECONDS)
    world.relays = False
    world.clients.order("bob", "k-1")
    world.clients.order("alice", "k-2")
    world.clock.advance(DAY_SECONDS)
    tick(world)
    world.run_schedule("SweepFunction")
    world.relays = True
    world.drain()
    tick(world)
    world.clock.advance(DAY_SECONDS)
    tick(world)
    world.quiet()


def _rolled_up_before(world: World) -> None:
    """The shop has been open for long: all dates before today's are done."""
    zone = ZoneInfo(world.stack.functions[ROLLUP].settings.environ["ROLLUP_TIME_ZONE"])
    today = datetime.fromtimestamp(world.clock.now(), UTC).astimezone(zone).date()
    put(world, Put(MARK, {"through": (today - timedelta(days=1)).isoformat()}))


def tick(world: World) -> None:
    """As Scheduler does: a run that fails is tried again, twice at most; then it is the next night's."""
    for _ in range(TICKS):
        if world.run_schedule(ROLLUP).error is None:
            return
