"""What the engine logs names no person, whatever an author's or a provider's error says."""

import logging

import pytest

from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.jobs import Call, Job, call_job

from .conftest import THING_DONE, Invocation, ThingDone, World, sqs_record, thing


class MailboxFull(Exception):
    pass


@call_job("letters", on=THING_DONE)
def send(job: Job[ThingDone]) -> Call[None]:
    def refuse(_provider: None) -> dict[str, str]:
        raise MailboxFull("ada@example.com or +234 801 234 5678") from MailboxFull("452 <ada@example.com>")

    return Call(refuse)


def test_a_failed_run_is_logged_with_its_trace_and_without_whom_it_concerned(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    handler = queue_handler(send, provider=lambda _: None).on(world.deployment)

    with caplog.at_level(logging.INFO, logger="postroom"):
        handler({"Records": [sqs_record(thing())]}, Invocation())

    (failed,) = (record for record in caplog.records if record.message == "job.attempt_failed")
    assert "MailboxFull: [e-mail] or [number]" in vars(failed)["trace"]
    assert "test_logs.py" in vars(failed)["trace"]
    assert not any("ada@" in f"{vars(record)}{record.exc_text}" for record in caplog.records)
