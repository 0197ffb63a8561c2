"""Whether the sweep came by everything that the functions may do: what the template grants is called."""

from collections.abc import Iterable, Mapping, Sequence

from infra.checks.grants import granted, needed_by_lambda, needed_for_keys
from infra.checks.template import Template
from infra.testkit.gate import Site
from tests.faults.template import PATH

CALLED_AS: Mapping[str, Sequence[str]] = {
    "PutItem": ("PutItem", "TransactWriteItems"),
    "UpdateItem": ("UpdateItem", "TransactWriteItems"),
    "PartiQLUpdate": ("BatchExecuteStatement",),
    "Publish": ("PublishBatch",),
    "ChangeMessageVisibility": ("ChangeMessageVisibilityBatch",),
}
"""By the right's name: the operations that need it."""

ELSEWHERE = frozenset(
    f"{name}Function"
    for name in (
        *("Signup", "Shipping", "Wallet", "PasswordResets", "Online"),
        *("Statement", "Welcome", "ShippingSms", "PasswordReset"),
        *("StartCampaign", "Campaigns", "CampaignMails"),
        *("SetReminders", "ReminderTimer", "Reminders", "AskForLoginCodes", "LoginCodes", "Sales", "Rollup"),
        *("WebhooksApi", "WebhooksOutcomes", "Webhooks", "WebhooksDue"),
    )
)
"""Functions beside an order's way. Their subscribers are killed at every call by the test kit, and each call
of a campaign's steps fails in `test_campaign_steps`."""


def not_reached(sites: Iterable[Site]) -> list[str]:
    """Rights of functions that no disturbed call made use of, as `Function: service:Action`."""
    reached = {(site.function, f"{site.target}:{site.operation}") for site in sites}
    template = Template.load(PATH)
    return sorted(
        f"{function}: {action}"
        for function, _ in template.of_type("AWS::Lambda::Function")
        if function not in ELSEWHERE
        for action in _own_actions(template, function)
        if not any((function, operation) in reached for operation in _operations(action))
    )


def _own_actions(template: Template, function: str) -> set[str]:
    grants = granted(template, function)
    made_by_aws = needed_by_lambda(template, function) | needed_for_keys(template, grants)
    return {action for action, _ in grants - made_by_aws}


def _operations(action: str) -> list[str]:
    service, _, name = action.partition(":")
    return [f"{service}:{operation}" for operation in CALLED_AS.get(name, (name,))]
