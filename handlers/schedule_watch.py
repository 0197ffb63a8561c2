"""Close, every minute, the jobs whose worker never reported: their messages end in a dead-letter queue."""

from .postroom.aws.watch_entry import watch_handler

handler = watch_handler(__package__)
