"""What must hold at the end of every run, judged from outside: clients' and providers' logs, tables, queues.

Numbered as the guarantees are: 1 orders, charges and events; 2 effects; 3 ends of jobs; 4 messages; 6 callers
kept apart; 7 nothing personal. (5, order per key, waits for the first ordered subscriber.)
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom import strict_json
from handlers.postroom.errors import PostroomError
from handlers.postroom.jobs import CallJob, InDoubt
from handlers.postroom.outbox import REFUSED
from handlers.postroom.storage import Item
from tests.faults.client import CARD_TOKEN, EMAIL_DOMAIN, NOTE
from tests.faults.effects import EFFECTS
from tests.faults.kinds import AnyJob
from tests.faults.world import World

LETTERS_KEPT_SECONDS = 14 * 86_400
ENDS = frozenset({"completed", "dead", "expired", "cancelled"})


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """`invariant` is its number and name."""

    invariant: str
    finding: str

    def __str__(self) -> str:
        return f"[{self.invariant}] {self.finding}"


@dataclass(frozen=True)
class Expected:
    """How the jobs of a scenario may end, by subscriber; `completed` where nothing is said.

    `unanswered` says that a client may have been left without a 202.
    """

    ends: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unanswered: bool = False

    def ends_of(self, subscriber: str) -> frozenset[str]:
        return self.ends.get(subscriber, frozenset({"completed"}))


Findings = Iterator[str]


def violations(world: World, expected: Expected) -> list[Violation]:
    """Every way in which this run broke a promise."""
    found = [
        Violation(name, finding) for name, check in INVARIANTS.items() for finding in check(world, expected)
    ]
    return sorted(set(found))


def accepted_orders_exist(world: World, expected: Expected) -> Findings:
    orders = {item["pk"]: item for item in world.orders}
    wanted = {(asked.caller, asked.key) for asked in world.clients.log}
    for asked in world.clients.log:
        for answer in asked.accepted:
            order = str(answer.headers["location"]).removeprefix("/jobs/").removesuffix("-paid")
            if orders.get(order, {}).get("owner") != asked.caller:
                yield f"{asked.caller} was told 202 for {order}, which is not theirs or is not there"
        last = asked.answers[-1].status if asked.answers else 0
        if last not in (202, 402, 422) and not expected.unanswered:
            yield f"{asked.caller} never got an answer to {asked.key}, the last one was {last}"
    if len(orders) > len(wanted):
        yield f"{len(orders)} orders for {len(wanted)} keys"


def one_key_has_one_answer(world: World, _expected: Expected) -> Findings:
    answers: dict[tuple[str, str], set[tuple[str, bytes]]] = defaultdict(set)
    bodies: dict[tuple[str, str], set[str]] = defaultdict(set)
    for asked in world.clients.log:
        answers[asked.caller, asked.key] |= {(a.headers["location"], a.body) for a in asked.accepted}
        if asked.accepted:
            bodies[asked.caller, asked.key].add(strict_json.canonical(asked.body))
    for key, different in answers.items():
        if len(different) > 1 or len(bodies[key]) > 1:
            yield f"{key} got {len(different)} answers to {len(bodies[key])} different requests"


def every_charge_has_its_order(world: World, _expected: Expected) -> Findings:
    orders = Counter(item.get("chargeId") for item in world.orders)
    charges = {charge.id: charge for charge in world.gateway.charges}
    for charge in charges.values():
        held = charge.status == "approved"
        if held != bool(orders[charge.id]):
            yield f"charge {charge.id} is {charge.status}, and {orders[charge.id]} orders rest on it"
    for item in world.orders:
        paid = charges.get(item.get("chargeId", ""))
        if paid is None or paid.amount != item["amount"]:
            yield f"{item['pk']} of {item['amount']} rests on {paid}"


def every_event_is_published(world: World, _expected: Expected) -> Findings:
    for item in world.shop_items:
        if item.get("unpublished", REFUSED) != REFUSED:
            yield f"{item['pk']} is still to be published"
        if item.get("unpublished") == REFUSED and item["event"].startswith("{"):
            yield f"{item['pk']} is refused, and is an event"
    for item in world.orders:
        if "event" not in item:
            yield f"{item['pk']} has no event"
    known = {_event(item)["id"] for item in world.orders}
    for event_id, subscriber in world.job_rows:
        if event_id not in known:
            yield f"{subscriber} has a job for {event_id}, which no order promised"


def nothing_is_repeated_for_nothing(world: World, _expected: Expected) -> Findings:
    if world.disturbed:
        return
    copies: dict[str, set[str]] = defaultdict(set)
    for body, publication in world.delivered:
        copies[body].add(publication)
    for body, publications in copies.items():
        if len(publications) > 1:
            yield f"{strict_json.loads(body)['id']} was published {len(publications)} times on a good day"


def effects_happen_once(world: World, _expected: Expected) -> Findings:
    states = states_of(world)
    for item in world.orders:
        for job_type in world.job_types:
            name, event_id = job_type.subscriber, _event(item)["id"]
            state, times = states.get((event_id, name), "missing"), EFFECTS[name](world, item)
            is_call = isinstance(job_type, CallJob)
            if times > _most(world, job_type):
                yield f"{name} of {item['pk']} took effect {times} times"
            if state == "completed" and times == 0:
                yield f"{name} of {item['pk']} is completed without effect"
            if state in ("cancelled", "expired") and times:
                yield f"{name} of {item['pk']} is {state}, and has taken effect"
            if state == "dead" and times and not is_call:
                yield f"{name} of {item['pk']} is dead, and has taken effect"


def _most(world: World, job_type: AnyJob) -> int:
    """Once; but what may be repeated in doubt, once more for each call that the fault left in doubt."""
    plan = world.plan
    may_repeat = isinstance(job_type, CallJob) and job_type.claim is InDoubt.RETRY
    if plan is None or not may_repeat or plan.spot.site.function.lower() != f"{job_type.subscriber}function":
        return 1
    return 1 + plan.fault.burst


def totals_agree(world: World, _expected: Expected) -> Findings:
    """What is summed over many orders is the sum of what was done for each."""
    for name in world.setting.subscribers:
        items = [item for item in world.shop_items if item["sk"] == f"tally-{name}"]
        by_order = sum(item["times"] for item in items if item["pk"].startswith("order-"))
        by_customer = sum(item["times"] for item in items if item["pk"].startswith("customer-"))
        if by_order != by_customer:
            yield f"{name}: {by_customer} by customer, {by_order} by order"


def repeats_are_the_same_bytes(world: World, _expected: Expected) -> Findings:
    for message_id, copies in world.mailroom.mails.items():
        if len(set(copies)) > 1:
            yield f"mail {message_id} was sent as {len(set(copies))} different texts"
    for provider in (world.cards, world.desk):
        asked: dict[tuple[str, str], set[str]] = defaultdict(set)
        for said in provider.heard:
            if said.key:
                asked[said.method, said.key].add(repr(said.args))
        for (method, key), different in asked.items():
            if len(different) > 1:
                yield f"{provider.name}.{method} was asked for {len(different)} different things with {key}"


def _letter_is_kept(world: World, order: Item) -> bool:
    """On a standard queue retention runs from the first send, which is about when the order was born."""
    return bool(world.clock.now() - order["bornAt"] / 1000 < LETTERS_KEPT_SECONDS)


def every_job_ends(world: World, expected: Expected) -> Findings:
    states = states_of(world)
    for item in world.orders:
        for subscriber in world.setting.subscribers:
            event_id = _event(item)["id"]
            state, allowed = states.get((event_id, subscriber), "missing"), expected.ends_of(subscriber)
            if subscriber in world.redriven and not _letter_is_kept(world, item):
                # the redrive came after SQS had let the letter go: dead, and in plain sight, is the right end
                allowed = allowed | {"dead"}
            if state not in allowed:
                yield f"{event_id}:{subscriber} is {state} in the end, not {' or '.join(sorted(allowed))}"
            row = world.job_rows.get((event_id, subscriber), {})
            if state in ENDS - {"dead"} and "open" in row:
                yield f"{event_id}:{subscriber} is {state}, and still listed as {row['open']}"


def owners_see_every_end(world: World, _expected: Expected) -> Findings:
    states = states_of(world)
    for item in world.orders:
        event_id = _event(item)["id"]
        answer = world.clients.get(item["owner"], f"/jobs/{event_id}")
        shown = {job["id"]: job["state"] for job in answer.json["jobs"]} if answer.status == 200 else {}
        for subscriber in world.setting.subscribers:
            state = states.get((event_id, subscriber))
            if shown.get(f"{event_id}:{subscriber}") != state:
                yield f"{subscriber} of {event_id} is {state}, its owner sees {answer.status} {shown}"


def only_a_redrive_reopens(world: World, _expected: Expected) -> Findings:
    for (event_id, subscriber), row in world.job_rows.items():
        if row.get("generation") and subscriber not in world.redriven:
            yield f"{event_id}:{subscriber} was reopened {row['generation']} times, and nobody redrove it"


def messages_are_conserved(world: World, _expected: Expected) -> Findings:
    states = states_of(world)
    for subscriber in world.setting.subscribers:
        if left := world.messages(world.queue(subscriber)):
            yield f"{len(left)} messages are still in the queue of {subscriber}"
        letters = Counter(
            strict_json.loads(each.body)["id"] for each in world.messages(world.dead_letters(subscriber))
        )
        for event_id in letters:
            if states.get((event_id, subscriber)) not in ENDS:
                yield f"{event_id}:{subscriber} lies in the dead letters and has no end"
        for item in world.orders:
            event_id = _event(item)["id"]
            is_kept = _letter_is_kept(world, item)
            if is_kept and states.get((event_id, subscriber)) == "dead" and not letters[event_id]:
                yield f"{event_id}:{subscriber} is dead, and there is no letter left to redrive"


def callers_are_kept_apart(world: World, _expected: Expected) -> Findings:
    for item in world.orders[:2]:
        event_id = _event(item)["id"]
        for target in (event_id, f"{event_id}:{world.setting.subscribers[0]}"):
            stranger = world.clients.get("mallory", f"/jobs/{target}")
            unknown = world.clients.get("mallory", f"/jobs/{target.replace('order-', 'order-un')}")
            if (stranger.status, stranger.body) != (404, unknown.body):
                yield f"mallory asked for {item['owner']}'s {target} and got {stranger.status}"


def nothing_personal_leaks(world: World, _expected: Expected) -> Findings:
    places: dict[str, list[str]] = {
        "a log line": world.lines,
        "a message": [body for body, _ in world.delivered],
        "a job's row": [repr(row) for row in world.job_rows.values()],
        "a failure of a function": [str(failure.error) for failure in world.failures],
    }
    for place, texts in places.items():
        for secret in (EMAIL_DOMAIN, CARD_TOKEN, NOTE):
            if any(secret in text for text in texts):
                yield f"{place} tells {secret!r}"


def functions_end_well(world: World, _expected: Expected) -> Findings:
    """A function may be killed, or say that AWS failed it; anything else is a bug we have tripped over."""
    known = {"Runtime.ExitError", "Sandbox.Timedout", *_names(PostroomError)}
    for failure in world.failures:
        if failure.error is not None and failure.error.kind not in known:
            yield f"{failure.function} raised {failure.error.kind}: {failure.error.message}"


def _names(kind: type[BaseException]) -> set[str]:
    return {kind.__name__, *(name for below in kind.__subclasses__() for name in _names(below))}


def states_of(world: World) -> dict[tuple[str, str], str]:
    """By event id and subscriber: the row's state, or what a marker of its own proves."""
    states = {key: str(row.get("state")) for key, row in world.job_rows.items()}
    for item in world.shop_items:
        if item["sk"] == "pick":
            states[f"{item['pk']}-paid", "warehouse"] = "completed"
    return states


def _event(item: Item) -> dict[str, Any]:
    event: dict[str, Any] = strict_json.loads(item["event"])
    return event


INVARIANTS: Mapping[str, Callable[[World, Expected], Findings]] = {
    "1 every 202 has its order": accepted_orders_exist,
    "1 one key, one answer": one_key_has_one_answer,
    "1 no charge without its order or its refund": every_charge_has_its_order,
    "1 orders are events": every_event_is_published,
    "1 an event is published once on a good day": nothing_is_repeated_for_nothing,
    "2 each effect once": effects_happen_once,
    "2 totals agree": totals_agree,
    "2 repeats are the same bytes": repeats_are_the_same_bytes,
    "3 every job ends": every_job_ends,
    "3 owners see every end": owners_see_every_end,
    "3 only a redrive reopens": only_a_redrive_reopens,
    "4 messages are conserved": messages_are_conserved,
    "6 callers are kept apart": callers_are_kept_apart,
    "7 nothing personal leaks": nothing_personal_leaks,
    "0 functions end well": functions_end_well,
}
