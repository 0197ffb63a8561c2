"""Whether the sweep came by everything that the functions may do: what the template grants is called."""

from collections.abc import Iterable, Mapping, Sequence

from infra.checks.grants import granted, needed_by_lambda, needed_for_keys
from infra.checks.template import Template
from infra.testkit.gate import Site
from tests.faults.template import PATH

CALLED_AS: Mapping[str, Sequence[str]] = {
    "GetItem": ("GetItem", "BatchGetItem"),
    "BatchGetItem": ("GetItem", "BatchGetItem"),
    "DeleteItem": ("DeleteItem", "TransactWriteItems"),
    "ConditionCheckItem": ("TransactWriteItems",),
    "PutItem": ("PutItem", "TransactWriteItems"),
    "UpdateItem": ("UpdateItem", "TransactWriteItems"),
    "PartiQLUpdate": ("BatchExecuteStatement",),
    "Publish": ("PublishBatch", "Publish"),
    "SendMessage": ("SendMessage", "SendMessageBatch"),
    "ChangeMessageVisibility": ("ChangeMessageVisibilityBatch",),
}
"""By the right's name: the operations that need it. How many keys it has makes a read one or the other."""

PASSED_ON = frozenset({"iam:PassRole"})
"""Rights that no call of its own makes use of: Scheduler's CreateSchedule does."""


def not_reached(sites: Iterable[Site]) -> list[str]:
    """Rights of functions that no disturbed call made use of, as `Function: service:Action`."""
    reached = {(site.function, f"{site.target}:{site.operation}") for site in sites}
    template = Template.load(PATH)
    return sorted(
        f"{function}: {action}"
        for function, _ in template.of_type("AWS::Lambda::Function")
        for action in _own_actions(template, function)
        if not any((function, operation) in reached for operation in _operations(action))
    )


def _own_actions(template: Template, function: str) -> set[str]:
    grants = granted(template, function)
    made_by_aws = needed_by_lambda(template, function) | needed_for_keys(template, grants)
    return {action for action, _ in grants - made_by_aws} - PASSED_ON


def _operations(action: str) -> list[str]:
    service, _, name = action.partition(":")
    return [f"{service}:{operation}" for operation in CALLED_AS.get(name, (name,))]
