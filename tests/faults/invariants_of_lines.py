"""Invariant 5: the order of what is ordered; and that each of very many gets one mail."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from handlers.postroom.storage import Item
from handlers.shop.statements import foot_key
from tests.faults.client import EMAIL_DOMAIN
from tests.faults.states import letter_is_kept
from tests.faults.world import World

Findings = Iterator[str]


def lines_are_in_order(world: World) -> Findings:
    """None before the one that it follows, unless that is dead for good; none twice."""
    for account, numbers in _lines_as_written(world).items():
        for place, number in enumerate(numbers):
            before = set(numbers[:place])
            if number in before:
                yield f"line {number} of {account} was written again"
            missing = set(range(1, number)) - before
            if alive := sorted(each for each in missing if not _is_dead(world, account, each)):
                yield f"line {number} of {account} was written before {alive}"


def statements_close_with_the_balance(world: World) -> Findings:
    """Of an account whose last movement is on its statement."""
    items = {(item["pk"], item["sk"]): item for item in world.shop_items}
    for (pk, sk), item in items.items():
        if sk == "entity" and pk.startswith("account-"):
            foot = items.get(foot_key(pk.removeprefix("account-"))[1:], {})
            if foot.get("lines") == item["sequence"] and foot.get("balance") != item["balance"]:
                yield f"{pk} closes with {foot.get('balance')}, and holds {item['balance']}"


def nothing_stays_parked(world: World) -> Findings:
    """Unless whoever came to release it came after SQS had let the letter go."""
    if any(not letter_is_kept(world, each) for each in world.events):
        return
    for pk, sk in world.job_rows:
        cursor = world.job_rows.get((pk, "cursor"), {}).get("sequence", 0)
        if sk.startswith("parked-") and int(sk.removeprefix("parked-")) > cursor:
            yield f"{pk}: {sk} is parked for ever"


def _lines_as_written(world: World) -> Mapping[str, Sequence[int]]:
    lines: dict[str, list[int]] = defaultdict(list)
    for change in world.changes:
        if change.sk.startswith("statement-"):
            lines[change.pk].append(int(change.sk.removeprefix("statement-")))
    return lines


def _is_dead(world: World, account: str, number: int) -> bool:
    """Whether the movement of that number ended without its line."""
    for promised in world.events:
        if (promised.event["aggregate"], promised.event["sequence"]) == (account, number):
            return bool(world.job_rows.get((promised.id, "statement"), {}).get("state") == "dead")
    return False


def each_recipient_gets_one_mail(world: World) -> Findings:
    """None twice; and each of a campaign that nobody stopped, whose progress says so."""
    for campaign in (item for item in world.shop_items if item["pk"].startswith("campaign-")):
        if campaign["sk"] != "entity":
            continue
        mails = _by_recipient(world, campaign["pk"])
        for address, message_ids in mails.items():
            if len(message_ids) > 1:
                yield f"{address} got {len(message_ids)} mails of {campaign['pk']}"
        wanted = {item["email"] for item in world.shop_items if "email" in item and _is_recipient(item)}
        if "stoppedAt" in campaign:
            continue
        if mails.keys() != wanted:
            yield f"{len(mails)} of {len(wanted)} recipients got a mail of {campaign['pk']}"
        shown = world.clients.get(campaign["owner"], f"/jobs/{campaign['pk']}-started").json.get("progress")
        if shown != {"enqueued": len(wanted), "of": len(wanted)}:
            yield f"{campaign['pk']} shows {shown}, and has {len(wanted)} recipients"


def _by_recipient(world: World, campaign: str) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for arrival in world.mailroom.arrivals:
        if campaign in arrival.message_id:
            found[arrival.mail.to].add(arrival.message_id)
    return found


def _is_recipient(item: Item) -> bool:
    return str(item["email"]).startswith("r") and str(item["email"]).endswith(EMAIL_DOMAIN)


OF_LINES: Mapping[str, Callable[[World], Findings]] = {
    "2 each recipient gets one mail": each_recipient_gets_one_mail,
    "5 lines are in order": lines_are_in_order,
    "5 statements close with the balance": statements_close_with_the_balance,
    "5 nothing stays parked": nothing_stays_parked,
}
