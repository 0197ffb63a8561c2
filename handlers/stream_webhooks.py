"""A job has ended → one message for each webhook of its owner: the tables' streams wake this function."""

from .postroom.aws.webhooks_entry import outcomes_handler

handler = outcomes_handler()
