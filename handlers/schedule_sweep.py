"""Publish, every minute, what the stream has missed: after an outage of the relay nothing is lost."""

from handlers.postroom.aws.stream_entry import sweep_handler

handler = sweep_handler()
