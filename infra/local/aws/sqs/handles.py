"""Receipt handles: opaque to callers, and one per receive."""

import base64
import binascii

from infra.local.aws.errors import AwsError


def make(queue_name: str, message_id: str, lease: int) -> str:
    return base64.b64encode(f"{queue_name} {message_id} {lease}".encode()).decode()


def lease_of(queue_name: str, handle: str) -> int:
    """The lease a handle stands for; ReceiptHandleIsInvalid when this queue never gave it out."""
    try:
        name, _, lease = base64.b64decode(handle, validate=True).decode().split(" ")
        if name == queue_name:
            return int(lease)
    except (ValueError, binascii.Error):
        pass
    raise invalid(handle)


def invalid(handle: str) -> AwsError:
    return AwsError(
        "ReceiptHandleIsInvalid", f'The input receipt handle "{handle}" is not a valid receipt handle.', 404
    )
