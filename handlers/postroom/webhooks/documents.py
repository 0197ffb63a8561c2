"""What the routes under /webhooks take and answer."""

from dataclasses import replace
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ..acceptance import accepting
from ..bodies import Body
from ..idempotency import REPLAYED
from ..operations import Operation, Reply, Time
from ..problems import NOT_YOURS
from .receivers import MAX_CHARACTERS

STATES = ("enabled", "failing", "disabled")
NO_STORE = "Cache-Control"
_OF_ONE = (
    "GET /webhooks/{id}",
    "DELETE /webhooks/{id}",
    "POST /webhooks/{id}/ping",
    "POST /webhooks/{id}/rotate",
)


class Registration(Body):
    url: Annotated[
        str, Field(max_length=MAX_CHARACTERS, json_schema_extra={"examples": ["https://example.com/hooks"]})
    ]


class Nothing(Body):
    """A body without members; it may as well be left out."""


class CreatedWebhookDocument(TypedDict):
    """`secret` is told to the request that made it, and to its repeats while it is the one in use."""

    id: str
    url: str
    createdAt: Time
    secret: NotRequired[str]


class WebhookDocument(TypedDict):
    """`failingSince` while its last delivery has failed; `reason` says why it is disabled."""

    id: str
    url: str
    state: Annotated[str, Field(json_schema_extra={"enum": list(STATES)})]
    createdAt: Time
    failingSince: NotRequired[Time]
    disabledAt: NotRequired[Time]
    reason: NotRequired[str]


class WebhookListDocument(TypedDict):
    webhooks: list[WebhookDocument]


class NewSecretDocument(TypedDict):
    """The secret before it signs as well until `previousEndsAt`."""

    id: str
    secret: str
    previousEndsAt: NotRequired[Time]


OPERATIONS = (
    Operation(
        "POST /webhooks",
        "Register a URL that is to hear how the caller's jobs end",
        {
            201: Reply(
                "Registered. The secret that signs is told here only.",
                CreatedWebhookDocument,
                ("Location", NO_STORE, REPLAYED),
                dict.fromkeys(_OF_ONE, "/id"),
            )
        },
        {
            409: "The caller has as many as there may be, or this request's webhook was removed.",
            422: "The URL leads where no webhook may go.",
        },
        body=Registration,
        keyed=True,
    ),
    Operation(
        "GET /webhooks",
        "List the caller's webhooks",
        {200: Reply("All of them.", WebhookListDocument, (NO_STORE,))},
    ),
    Operation(
        "GET /webhooks/{id}",
        "Tell how a webhook fares",
        {200: Reply("The webhook.", WebhookDocument, (NO_STORE,))},
        {404: NOT_YOURS},
    ),
    Operation(
        "DELETE /webhooks/{id}",
        "Remove a webhook",
        {204: Reply("Removed, now or before.")},
        {404: NOT_YOURS},
    ),
    Operation(
        "POST /webhooks/{id}/rotate",
        "Give a webhook a new secret",
        {200: Reply("The new secret, told here only.", NewSecretDocument, (NO_STORE, REPLAYED))},
        {404: NOT_YOURS, 409: "Earlier secrets are still in use."},
        body=Nothing,
        body_required=False,
        keyed=True,
    ),
    replace(
        accepting("POST /webhooks/{id}/ping", Nothing, "Send a webhook a trial message", {404: NOT_YOURS}),
        body_required=False,
    ),
)
