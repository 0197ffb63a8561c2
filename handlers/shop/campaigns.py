"""A campaign: one mail to everybody in an audience, handed out in steps and sent in the bulk lane."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from ..postroom import fanout
from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body, invalid
from ..postroom.errors import Permanent, Transient, Withdrawn
from ..postroom.events import Event, EventFamily, EventType
from ..postroom.jobs import EPOCH, Job, Result
from ..postroom.outbox import event_row
from ..postroom.problems import FieldError
from ..postroom.storage import Item, Key, Store, Write
from ..postroom.texts import Filled, Lines
from .audiences import MAX_NUMBER, NAME_PATTERN, Audience, Size
from .facts import Fact, Id
from .ports import BulkLane, Mail
from .receipts import is_address

ROUTE = "POST /campaigns"
MAX_SUBJECT_CHARACTERS = 150
MAX_TEXT_CHARACTERS = 10_000
"""40 KB at most, of an item's 400 KB; every batch of mails reads it once."""
PAGE_RECIPIENTS = 200
"""Recipients read and handed out between two looks at the time that is left."""
LEAST_REMAINING_MS = 15_000
"""With less left the step ends early: enough for a page's calls at their slowest, and for the commit."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDERS = frozenset({"name"})


def _known_placeholders(text: str) -> str:
    if unknown := set(_PLACEHOLDER.findall(text)) - _PLACEHOLDERS:
        message = "must hold no placeholder but {known}: {unknown}"
        told = {"known": "{name}", "unknown": ", ".join(sorted(unknown))[:80]}
        raise PydanticCustomError("placeholder", message, told)
    return text


Template = AfterValidator(_known_placeholders)


class CampaignBody(Body):
    """What the caller asks for; `{name}` in subject and text becomes the recipient's."""

    audience: Annotated[str, Field(pattern=NAME_PATTERN, examples=["newsletter"])]
    subject: Annotated[Filled, Field(max_length=MAX_SUBJECT_CHARACTERS), Template]
    text: Annotated[Lines, Field(max_length=MAX_TEXT_CHARACTERS), Template]


class _OfACampaign(Fact):
    campaign_id: Id


class CampaignStep(_OfACampaign):
    """`after` is the number of the last recipient that earlier steps have handed out."""

    after: Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class CampaignMail(_OfACampaign):
    """One recipient's mail."""

    audience: Annotated[str, Field(pattern=NAME_PATTERN)]
    recipient: Annotated[int, Field(ge=1, le=MAX_NUMBER)]


CAMPAIGN_STARTED = EventType("campaign.started", 1, CampaignStep)
CAMPAIGN_STEP = EventType("campaign.step", 1, CampaignStep, born_with_entity=False, repeats=True)
CAMPAIGN_STEPS: EventFamily[CampaignStep] = EventFamily("campaign", (CAMPAIGN_STARTED, CAMPAIGN_STEP))
"""The start is the first step, so that the second has the number 2."""
CAMPAIGN_MAIL = EventType("campaign.mail", 1, CampaignMail, born_with_entity=False, repeats=True, direct=True)
"""Its number is the recipient's: the same recipient of the same campaign is always the same job."""


def aggregate_of(campaign_id: str) -> str:
    return f"campaign-{campaign_id}"


def campaign_key(campaign_id: str) -> Key:
    return Key("shop", aggregate_of(campaign_id), "entity")


@dataclass(frozen=True, slots=True)
class Campaign:
    """As the subscribers read it. `last` is the highest number that its audience had when it started."""

    id: str
    audience: Audience
    last: int
    subject: str
    text: str
    started_at: datetime
    is_stopped: bool

    @classmethod
    def from_item(cls, item: Item) -> "Campaign":
        return cls(
            id=item["pk"].removeprefix("campaign-"),
            audience=Audience(item["owner"], item["audience"]),
            last=int(item["last"]),
            subject=item["subject"],
            text=item["text"],
            started_at=EPOCH + timedelta(milliseconds=int(item["bornAt"])),
            is_stopped="stoppedAt" in item,
        )

    def require_running(self) -> None:
        """Raises `Withdrawn` once its owner has stopped it."""
        if self.is_stopped:
            raise Withdrawn("the campaign was stopped")

    def mail_event(self, number: int) -> Event[CampaignMail]:
        return CAMPAIGN_MAIL.new(
            aggregate_of(self.id),
            CampaignMail(campaign_id=self.id, audience=self.audience.name, recipient=number),
            sequence=number,
            time=self.started_at,
            owner=self.audience.owner,
            trace="",
        )

    def mail_for(self, recipient: Item | None) -> Mail:
        """Raises `Withdrawn` when it was stopped or the recipient has left, `Permanent` for no address."""
        self.require_running()
        if recipient is None:
            raise Withdrawn("the recipient has left the audience")
        if not is_address(recipient["email"]):
            raise Permanent("the recipient's e-mail is not an e-mail address")
        name = " ".join(str(recipient["name"]).split())
        return Mail(
            recipient["email"], _filled(self.subject, name), _filled(self.text, name), self.started_at
        )


def _filled(template: str, name: str) -> str:
    return _PLACEHOLDER.sub(lambda _: name, template)


def campaigns(store: Store) -> Work[CampaignBody, Size]:
    return Work(
        route=ROUTE,
        model=CampaignBody,
        key=campaign_key,
        settle=lambda intent: _size(store, intent),
        undo=lambda _size, _winner: None,
        build=_campaign,
        summary="Send one mail to everybody in an audience",
        refusals={422: "The audience is none of the caller's or empty, or a placeholder is not known."},
    )


def _size(store: Store, intent: Intent[CampaignBody]) -> Size:
    key = Audience(intent.caller, intent.payload.audience).key
    item = store.read([key]).get(key)
    size = Size.from_item(item) if item else Size(0, 0)
    if not size.recipients:
        raise invalid([FieldError("audience", "is none of yours, or empty")])
    return size


def _campaign(intent: Intent[CampaignBody], size: Size, now: datetime) -> Birth:
    event = CAMPAIGN_STARTED.new(
        aggregate_of(intent.id),
        CampaignStep(campaign_id=intent.id, after=0),
        sequence=1,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    own = {**intent.payload.model_dump(), "last": size.last}
    return Birth(event, {**own, **fanout.attributes(size.recipients, event.id)})


@dataclass(frozen=True, slots=True)
class Step:
    """One bounded part of a campaign's recipients."""

    campaign: Campaign
    event: Event[CampaignStep]

    @classmethod
    def of(cls, job: Job[CampaignStep]) -> "Step":
        """Raises `Withdrawn` when the campaign was stopped."""
        campaign = Campaign.from_item(job.require("campaign"))
        campaign.require_running()
        return cls(campaign, job.event)

    def hand_out(self, lane: BulkLane, remaining_ms: Callable[[], int]) -> Result:
        """Put the step's messages into the lane: fewer when the time or the queue does not allow for all.

        Raises `Transient` or `Permanent` when it has got nowhere.
        """
        enqueued, after, more = 0, self.event.data.after, True
        while more and enqueued < lane.step_recipients:
            if enqueued and remaining_ms() < LEAST_REMAINING_MS:
                break
            limit = min(PAGE_RECIPIENTS, lane.step_recipients - enqueued)
            page = lane.page(self.campaign.audience, after, self.campaign.last, limit)
            try:
                lane.send([self.campaign.mail_event(number) for number in page.numbers])
            except Transient:
                if not enqueued:
                    raise
                break
            enqueued += len(page.numbers)
            after, more = max([after, *page.numbers]), page.more
        return {"enqueued": enqueued, "upTo": after, "more": more and after < self.campaign.last}

    def advance(self, result: Result, now: datetime) -> Sequence[Write]:
        """The progress, and the event of the next step if there is more to do."""
        following = self._following(result["upTo"], now) if result["more"] else None
        progress = fanout.advanced(
            campaign_key(self.campaign.id),
            step=self.event.id,
            to=following.id if following else None,
            enqueued=result["enqueued"],
        )
        return [progress, event_row(CAMPAIGN_STEP, following)] if following else [progress]

    def _following(self, after: int, now: datetime) -> Event[CampaignStep]:
        return CAMPAIGN_STEP.new(
            self.event.aggregate,
            CampaignStep(campaign_id=self.campaign.id, after=after),
            sequence=self.event.sequence + 1,
            time=now,
            owner=self.event.owner,
            trace=self.event.trace,
        )
