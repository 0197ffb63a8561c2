"""The Lambda handlers around webhooks: from the tables' streams, and by schedule."""

from typing import Any

from ..later import DuePublisher
from ..webhooks.outcomes import Outcomes, ended_of
from .deployment import Deployment
from .due_index import DynamoDueIndex
from .entry import Entry, LambdaContext, LambdaHandler
from .tables import DynamoStore
from .topic import SnsTopic


def outcomes_handler() -> Entry:
    """Writes a message for each webhook that is to hear of an end; reports where to rewind to."""

    def build(deployment: Deployment) -> LambdaHandler:
        outcomes = Outcomes(DynamoStore(deployment))

        def handle(event: Any, _context: LambdaContext) -> Any:
            ends = [end for raw in event["Records"] if (end := ended_of(raw))]
            rewind_to = outcomes.tell(ends)
            failures = [] if rewind_to is None else [{"itemIdentifier": rewind_to}]
            return {"batchItemFailures": failures}

        return handle

    return Entry(build)


def due_handler() -> Entry:
    """Publishes the events whose time has come; returns how many there were."""

    def build(deployment: Deployment) -> LambdaHandler:
        store = DynamoStore(deployment)
        due = DuePublisher(SnsTopic(deployment), store, DynamoDueIndex(store), deployment.new_id)
        return lambda _event, context: {
            "published": due.run(deployment.clock(), context.get_remaining_time_in_millis)
        }

    return Entry(build)
