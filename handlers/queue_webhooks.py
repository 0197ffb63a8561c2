"""delivery.due → one signed POST to the caller's URL, for up to three days."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.queue_entry import queue_handler
from .postroom.aws.tables import DynamoStore
from .postroom.jobs import Call, Job, call_job
from .postroom.webhooks.messages import DELIVERY_DUE, SCHEDULE, SUBSCRIBER, DeliveryDue
from .postroom.webhooks.registry import Registry, registry_key
from .postroom.webhooks.sending import Sender
from .providers import webhook_https


@call_job(
    SUBSCRIBER,
    on=DELIVERY_DUE,
    retry=SCHEDULE,
    load=lambda event: {"webhooks": registry_key(event.owner)},
    needs_ms=30_000,
    waits_in_table=True,
)
def deliver(job: Job[DeliveryDue]) -> Call[Sender]:
    return Call(lambda sender: sender.send(job))


def sender(deployment: Deployment) -> Sender:
    registry = Registry(DynamoStore(deployment), deployment.clock)
    return Sender(webhook_https.from_deployment(deployment), registry, deployment.clock)


handler = queue_handler(deliver, provider=sender)
