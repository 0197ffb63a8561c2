"""A campaign's rules: what is accepted, what one step does, and what a recipient reads."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from handlers.postroom.acceptance import Acceptance
from handlers.postroom.errors import Permanent, Transient, Withdrawn
from handlers.postroom.events import Event
from handlers.postroom.http import Answer, answer
from handlers.postroom.storage import Put, Update
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from handlers.shop.campaigns import (
    CAMPAIGN_STARTED,
    LEAST_REMAINING_MS,
    PAGE_RECIPIENTS,
    Campaign,
    CampaignStep,
    Step,
    campaigns,
)
from handlers.shop.ports import RecipientPage
from tests.fakes import FakeStore
from tests.unit.gateway import NOW, fields_of, gateway_event

AUDIENCE = Audience("alice", "spring")
BODY = {"audience": "spring", "subject": "Spring, {name}", "text": "Dear {name},\ncome.\n"}
PLENTY = 900_000


@dataclass
class Lane:
    """An audience numbered from 1 to `count`; `refusals` are raised by the next sends, None for none."""

    count: int
    step_recipients: int = 1_000
    refusals: list[Exception | None] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def page(self, _audience: Audience, after: int, last: int, limit: int) -> RecipientPage:
        numbers = list(range(after + 1, min(self.count, last) + 1))
        return RecipientPage(numbers[:limit], more=len(numbers) > limit)

    def send(self, events: Sequence[Event[Any]]) -> None:
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal:
            raise refusal
        self.sent += [event.sequence for event in events]


def campaign(last: int = 1_000, **changes: Any) -> Campaign:
    given = Campaign("c1", AUDIENCE, last, BODY["subject"], BODY["text"], NOW, is_stopped=False)
    return replace(given, **changes)


def step(after: int = 0, last: int = 1_000) -> Step:
    event = CAMPAIGN_STARTED.new(
        "campaign-c1",
        CampaignStep(campaign_id="c1", after=after),
        sequence=1,
        time=NOW,
        owner="alice",
        trace="",
    )
    return Step(campaign(last), event)


def counting_down(*remaining: int) -> Callable[[], int]:
    left = list(remaining)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_step_hands_out_as_many_as_it_may_and_says_where_it_stopped() -> None:
    lane = Lane(1_000, step_recipients=450)

    result = step(after=100).hand_out(lane, lambda: PLENTY)

    assert lane.sent == list(range(101, 551))
    assert result == {"enqueued": 450, "upTo": 550, "more": True}


def test_a_step_with_little_time_left_ends_early() -> None:
    lane = Lane(1_000)

    result = step().hand_out(lane, counting_down(PLENTY, LEAST_REMAINING_MS - 1))

    assert result == {"enqueued": 2 * PAGE_RECIPIENTS, "upTo": 2 * PAGE_RECIPIENTS, "more": True}


def test_a_step_gets_somewhere_however_little_time_is_left() -> None:
    assert step().hand_out(Lane(1_000), lambda: 0)["enqueued"] == PAGE_RECIPIENTS


def test_a_busy_queue_makes_a_step_shorter() -> None:
    lane = Lane(1_000, refusals=[None, Transient("busy")])

    assert step().hand_out(lane, lambda: PLENTY)["upTo"] == PAGE_RECIPIENTS


@pytest.mark.parametrize("error", [Transient("busy"), Permanent("never")])
def test_a_step_that_has_got_nowhere_fails(error: Exception) -> None:
    with pytest.raises(type(error)):
        step().hand_out(Lane(1_000, refusals=[error]), lambda: PLENTY)


def test_a_message_that_can_never_be_taken_is_not_passed_over() -> None:
    with pytest.raises(Permanent):
        step().hand_out(Lane(1_000, refusals=[None, Permanent("never")]), lambda: PLENTY)


def test_the_progress_and_the_next_steps_event_are_one_commit() -> None:
    progress, following = step().advance({"enqueued": 400, "upTo": 400, "more": True}, NOW)

    assert isinstance(progress, Update)
    assert isinstance(following, Put)
    assert progress.add == {"enqueued": 400}
    assert progress.set == {"step": "campaign-c1-step.2"}
    assert (following.key.pk, following.key.sk) == ("campaign-c1", "event-step.2")
    assert json.loads(following.item["event"])["data"] == {"campaignId": "c1", "after": 400}


def test_the_last_step_has_none_after_it() -> None:
    (progress,) = step().advance({"enqueued": 4, "upTo": 4, "more": False}, NOW)

    assert isinstance(progress, Update)
    assert progress.remove == ("step",)


def test_a_mail_fills_in_the_name_and_nothing_else() -> None:
    recipient = {"email": "zoe@example.com", "name": "{name} \n Zoé"}

    mail = campaign().mail_for(recipient)

    assert (mail.to, mail.subject, mail.text) == (
        "zoe@example.com",
        "Spring, {name} Zoé",
        "Dear {name} Zoé,\ncome.\n",
    )
    assert mail.date == NOW


@pytest.mark.parametrize(
    ("stopped", "recipient", "error"),
    [
        (True, {"email": "zoe@example.com", "name": "Zoé"}, Withdrawn),
        (False, None, Withdrawn),
        (False, {"email": "zoe", "name": "Zoé"}, Permanent),
    ],
    ids=["stopped", "left", "no-address"],
)
def test_a_mail_that_cannot_or_need_not_be_sent(
    stopped: bool, recipient: dict[str, str] | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        campaign(is_stopped=stopped).mail_for(recipient)


def ask(body: dict[str, Any], recipients: int = 3) -> Answer:
    store = FakeStore()
    store.write(audiences.head(AUDIENCE, Size(recipients, recipients)))
    return answer(Acceptance(campaigns(store), store, lambda: NOW), gateway_event(body))


def test_a_campaign_is_accepted() -> None:
    accepted = ask(BODY)

    assert accepted.status == 202
    assert accepted.headers["Location"].startswith("/jobs/campaign-")


@pytest.mark.parametrize(
    ("field_name", "value"),
    [
        ("audience", "nobody"),
        ("audience", "Spring:bola"),
        ("audience", ""),
        ("subject", " "),
        ("subject", "x" * 151),
        ("subject", "two\nlines"),
        ("subject", "Dear {email}"),
        ("text", ""),
        ("text", "x" * 10_001),
        ("text", "a\u0000b"),
        ("text", "{__class__}"),
    ],
)
def test_what_cannot_be_a_campaign_is_refused_by_field(field_name: str, value: str) -> None:
    refused = ask({**BODY, field_name: value})

    assert refused.status == 422
    assert fields_of(refused) == [field_name]


def test_an_empty_audience_is_refused() -> None:
    assert ask(BODY, recipients=0).status == 422


def test_the_largest_campaign_fits_an_item_and_its_events_a_batch() -> None:
    accepted = ask({**BODY, "text": "é" * 10_000})
    event = campaign(audience=Audience("o" * 255, "n" * 64)).mail_event(audiences.MAX_NUMBER)

    assert accepted.status == 202
    assert len(event.to_json().encode()) * 10 < 1_048_576 / 10
