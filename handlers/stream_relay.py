"""Publish each event once its row is written: the table's stream wakes this function."""

from handlers.postroom.aws.stream_entry import relay_handler

handler = relay_handler()
