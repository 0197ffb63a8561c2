"""Handlers of a little stack: one for each kind of trigger."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaHandler


def _build(deployment: Deployment) -> LambdaHandler:
    def send(event: Any, _context: Any) -> Any:
        """Send what came to the queue, under the environment's greeting."""
        body = json.dumps({"greeting": deployment.setting("GREETING"), "event": event}, default=str)
        deployment.client("sqs").send_message(QueueUrl=deployment.setting("QUEUE_URL"), MessageBody=body)
        return {"statusCode": 202, "body": deployment.new_id()}

    return send


forward = Entry(_build)


def work(event: Any, _context: Any) -> Any:
    """Fail the records that say so."""
    failed = [record["messageId"] for record in event["Records"] if "poison" in record["body"]]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def probe(event: Any, context: Any) -> Any:
    """Do what the event says: the trials of a process of its own."""
    match event:
        case {"do": "tell"}:
            return {
                "pid": os.getpid(),
                "greeting": os.environ.get("GREETING"),
                "home": os.environ.get("SECRET_OF_THE_PARENT"),
                "id": context.aws_request_id,
                "left": context.get_remaining_time_in_millis(),
            }
        case {"do": "print"}:
            sys.stdout.write("not an answer\n")
            sys.stdout.flush()
            return "printed"
        case {"do": "raise"}:
            raise ValueError("as asked")
        case {"do": "exit"}:
            os._exit(3)
        case {"do": "object"}:
            return {"x": object()}
        case {"do": "wait", "seconds": seconds, "sign": sign}:
            Path(sign).touch()
            time.sleep(seconds)
            return "waited"
        case {"do": "wait until told to stop"}:
            while context.get_remaining_time_in_millis():
                time.sleep(0.005)
            return "told"
    return event
