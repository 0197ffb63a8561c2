"""campaign.started, campaign.step → messages for some thousand recipients, and the event of the next step."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import bulk_lane_sqs
from .shop.campaigns import CAMPAIGN_STEPS, CampaignStep, Step, campaign_key
from .shop.ports import BulkLane


@call_job(
    "campaigns",
    on=CAMPAIGN_STEPS,
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000),
    load=lambda event: {"campaign": campaign_key(event.data.campaign_id)},
    needs_ms=30_000,
)
def enqueue_step(job: Job[CampaignStep]) -> Call[BulkLane]:
    step = Step.of(job)
    return Call(lambda lane: step.hand_out(lane, job.remaining_ms), then=step.advance)


handler = queue_handler(enqueue_step, provider=bulk_lane_sqs.from_deployment)
