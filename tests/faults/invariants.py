"""What must hold at the end of every run, judged from outside: clients' and providers' logs, tables, queues.

Numbered as the guarantees are: 1 requests, charges and events; 2 effects; 3 ends of jobs; 4 messages; 5 order
per key; 6 callers kept apart; 7 nothing personal; 8 time; 9 webhooks.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom import strict_json
from handlers.postroom.errors import PostroomError
from handlers.postroom.jobs import CallJob, InDoubt, JobType
from handlers.postroom.outbox import REFUSED
from tests.faults.client import CARD_TOKEN, CHECKOUT, EMAIL_DOMAIN, NOTE, PHONE
from tests.faults.effects import EFFECTS
from tests.faults.invariants_of_lines import OF_LINES
from tests.faults.invariants_of_time import OF_TIME
from tests.faults.invariants_of_webhooks import OF_WEBHOOKS
from tests.faults.states import letter_is_kept, states_of, tabled
from tests.faults.template import function_of
from tests.faults.world import World

DIRECTLY_FED = frozenset({"campaign-mails", "reminders"})
"""No item of the table promises their events: what they come from is judged by itself."""
SENT_AGAIN = frozenset({"delivery.due", "campaign.mail"})
"""Once more when their time has come, or by a step that runs again."""
SHOWN_AS = {"parked": "queued"}
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
    found += [Violation(name, finding) for name, check in OF_THE_SHOP.items() for finding in check(world)]
    return sorted(set(found))


def what_was_accepted_exists(world: World, expected: Expected) -> Findings:
    owners = {each.id: each.owner for each in world.events}
    for asked in world.clients.log:
        for answer in asked.accepted:
            event_id = str(answer.headers.get("location", "")).removeprefix("/jobs/")
            if event_id and owners.get(event_id) != asked.caller:
                yield f"{asked.caller} was told 202 for {event_id}, which is not theirs or is not there"
        last = asked.answers[-1].status if asked.answers else 0
        if last not in asked.ends and not expected.unanswered:
            yield f"{asked.caller} never got an answer to {asked.route} {asked.key}, the last one was {last}"
    wanted = {(asked.caller, asked.key) for asked in world.clients.log if asked.route == CHECKOUT}
    if len(world.orders) > len(wanted):
        yield f"{len(world.orders)} orders for {len(wanted)} keys"


def one_key_has_one_answer(world: World, _expected: Expected) -> Findings:
    answers: dict[tuple[str, ...], set[tuple[str, bytes]]] = defaultdict(set)
    bodies: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for asked in world.clients.log:
        request = asked.route, asked.caller, asked.key
        answers[request] |= {(a.headers.get("location", ""), a.body) for a in asked.accepted}
        if asked.accepted:
            bodies[request].add(strict_json.canonical(asked.body))
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
    known = {each.id for each in world.events}
    for event_id, subscriber in tabled(world):
        if event_id not in known and subscriber not in DIRECTLY_FED:
            yield f"{subscriber} has a job for {event_id}, which nothing promised"


def nothing_is_repeated_for_nothing(world: World, _expected: Expected) -> Findings:
    if world.disturbed:
        return
    copies: dict[str, set[str]] = defaultdict(set)
    for body, publication in world.delivered:
        if strict_json.loads(body)["type"] not in SENT_AGAIN:
            copies[body].add(publication)
    for body, publications in copies.items():
        if len(publications) > 1:
            yield f"{strict_json.loads(body)['id']} was published {len(publications)} times on a good day"


def effects_happen_once(world: World, _expected: Expected) -> Findings:
    states = states_of(world)
    for promised, job_type in world.promised:
        name = job_type.subscriber
        if name not in EFFECTS:
            continue
        state, times = states.get((promised.id, name), "missing"), EFFECTS[name](world, promised)
        is_call = isinstance(job_type, CallJob)
        if times > _most(world, job_type):
            yield f"{name} of {promised.id} took effect {times} times"
        if state == "completed" and times == 0:
            yield f"{name} of {promised.id} is completed without effect"
        # a call that was cut off after the deed may find its time over when it comes back
        in_doubt = is_call and state == "expired" and world.disturbed
        if state in ("cancelled", "expired") and times and not in_doubt:
            yield f"{name} of {promised.id} is {state}, and has taken effect"
        if state == "dead" and times and not is_call:
            yield f"{name} of {promised.id} is dead, and has taken effect"


def _most(world: World, job_type: JobType[Any]) -> int:
    """Once; but what may be repeated in doubt, once more for each call that the fault left in doubt."""
    plan = world.plan
    may_repeat = isinstance(job_type, CallJob) and job_type.claim is InDoubt.RETRY
    if plan is None or not may_repeat or plan.spot.site.function != function_of(job_type.subscriber):
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
    for provider in (world.cards, world.desk, world.mail):
        asked: dict[tuple[str, str], set[str]] = defaultdict(set)
        for said in provider.heard:
            if said.key:
                asked[said.method, said.key].add(repr(said.args))
        for (method, key), different in asked.items():
            if len(different) > 1:
                yield f"{provider.name}.{method} was asked for {len(different)} different things with {key}"


def every_job_ends(world: World, expected: Expected) -> Findings:
    states = states_of(world)
    due = [(each.id, kind.subscriber, letter_is_kept(world, each)) for each, kind in world.promised]
    due += [(event_id, name, True) for event_id, name in states if name in DIRECTLY_FED]
    for event_id, subscriber, is_kept in due:
        state, allowed = states.get((event_id, subscriber), "missing"), expected.ends_of(subscriber)
        if subscriber in world.redriven and not is_kept:
            # the redrive came after SQS had let the letter go: dead, and in plain sight, is the right end
            allowed = allowed | {"dead", "parked"}
        if state not in allowed:
            yield f"{event_id}:{subscriber} is {state} in the end, not {' or '.join(sorted(allowed))}"
        row = world.job_rows.get((event_id, subscriber), {})
        if state in ENDS - {"dead"} and "open" in row:
            yield f"{event_id}:{subscriber} is {state}, and still listed as {row['open']}"


def owners_see_every_end(world: World, _expected: Expected) -> Findings:
    states = states_of(world)
    for promised in world.events:
        names = [kind.subscriber for each, kind in world.promised if each.id == promised.id]
        answer = world.clients.get(promised.owner, f"/jobs/{promised.id}") if names else None
        jobs = answer.json["jobs"] if answer and answer.status == 200 else []
        shown = {job["id"]: job["state"] for job in jobs}
        for subscriber in names:
            state = states.get((promised.id, subscriber))
            if shown.get(f"{promised.id}:{subscriber}") != SHOWN_AS.get(state or "", state):
                yield f"{subscriber} of {promised.id} is {state}, its owner sees {shown}"


def only_a_redrive_reopens(world: World, _expected: Expected) -> Findings:
    for (event_id, subscriber), row in tabled(world).items():
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
        for promised in world.events:
            is_dead = states.get((promised.id, subscriber)) == "dead"
            was_skipped = "note" in world.job_rows.get((promised.id, subscriber), {})
            if is_dead and not was_skipped and letter_is_kept(world, promised) and not letters[promised.id]:
                yield f"{promised.id}:{subscriber} is dead, and there is no letter left to redrive"


def callers_are_kept_apart(world: World, _expected: Expected) -> Findings:
    for promised in world.events[:2]:
        for target in (promised.id, f"{promised.id}:{world.setting.subscribers[0]}"):
            stranger = world.clients.get("mallory", f"/jobs/{target}")
            unknown = world.clients.get("mallory", f"/jobs/{target.replace('-', '-un', 1)}")
            if (stranger.status, stranger.body) != (404, unknown.body):
                yield f"mallory asked for {promised.owner}'s {target} and got {stranger.status}"


def nothing_personal_leaks(world: World, _expected: Expected) -> Findings:
    places: dict[str, list[str]] = {
        "a log line": world.lines,
        "a message": [body for body, _ in world.delivered],
        "a job's row": [repr(row) for row in world.job_rows.values()],
        "a failure of a function": [str(failure.error) for failure in world.failures],
    }
    for place, texts in places.items():
        for secret in (EMAIL_DOMAIN, CARD_TOKEN, NOTE, PHONE, "whsec_", "token="):
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


OF_THE_SHOP = {**OF_LINES, **OF_TIME, **OF_WEBHOOKS}
INVARIANTS: Mapping[str, Callable[[World, Expected], Findings]] = {
    "1 every 202 has its event": what_was_accepted_exists,
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
