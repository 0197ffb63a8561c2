"""campaign.mail → one recipient's mail of a campaign, in a lane that nothing urgent waits in."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.events import Event
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .postroom.storage import Key
from .providers import mail_smtp
from .shop.audiences import Audience
from .shop.campaigns import CAMPAIGN_MAIL, Campaign, CampaignMail, campaign_key
from .shop.ports import Mailer


def needed(event: Event[CampaignMail]) -> dict[str, Key]:
    audience = Audience(event.owner, event.data.audience)
    return {
        "campaign": campaign_key(event.data.campaign_id),
        "recipient": audience.recipient_key(event.data.recipient),
    }


@call_job(
    "campaign-mails",
    on=CAMPAIGN_MAIL,
    # nobody wants to read last week's offer
    retry=RetryPolicy(attempts=20, base_ms=2_000, cap_ms=3_600_000, deadline_seconds=3 * 24 * 3600),
    load=needed,
)
def send_campaign_mail(job: Job[CampaignMail]) -> Call[Mailer]:
    mail = Campaign.from_item(job.require("campaign")).mail_for(job.loaded["recipient"])
    return Call(lambda mailer: {"messageId": mailer.send(mail, key=job.idempotency_key)})


handler = queue_handler(send_campaign_mail, provider=mail_smtp.from_deployment)
