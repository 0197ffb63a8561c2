"""Publish, every minute, the deliveries whose next attempt has come due: long waits are in the table."""

from .postroom.aws.webhooks_entry import due_handler

handler = due_handler()
