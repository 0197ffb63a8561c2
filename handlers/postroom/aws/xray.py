"""Segments of a caller's own trace, sent to the X-Ray daemon that runs beside every traced function.

Lambda's own segments are of the batch's trace, in which many orders meet.
"""

import json
import logging
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..traces import Trace
from .deployment import Deployment

logger = logging.getLogger("postroom.xray")

HEADER = b'{"format": "json", "version": 1}\n'
"""docs.aws.amazon.com/xray/latest/devguide/xray-api-sendingdata.html#xray-api-daemon"""
LAMBDAS_TRACE = "_X_AMZN_TRACE_ID"
DAEMON = "AWS_XRAY_DAEMON_ADDRESS"
"""docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html"""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one function did about one event. Times are epoch seconds; annotations are searched for."""

    name: str
    started: float
    ended: float
    annotations: Mapping[str, str | int] = field(default_factory=dict)
    is_fault: bool = False


class Traces:
    """Records segments of sampled traces; without a daemon, none. Tracing stops no work."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def add(self, trace: Trace | None, segment: Segment) -> None:
        address = self._deployment.environ.get(DAEMON, "")
        if trace is None or not trace.is_sampled or not address:
            return
        try:
            _send(address, HEADER + json.dumps(self._document(trace, segment)).encode())
        except OSError as error:
            logger.info("xray.not_sent", extra={"reason": type(error).__name__})

    def _document(self, trace: Trace, segment: Segment) -> dict[str, Any]:
        """docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html"""
        return {
            "name": segment.name,
            "id": self._deployment.new_id()[:16],
            "trace_id": trace.root,
            **({"parent_id": trace.parent} if trace.parent else {}),
            "start_time": segment.started,
            "end_time": max(segment.started, segment.ended),
            "annotations": dict(segment.annotations),
            **({"fault": True} if segment.is_fault else {}),
        }


def _send(address: str, datagram: bytes) -> None:
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.sendto(datagram, (host, int(port)))


def lambdas_trace(deployment: Deployment) -> str:
    """The trace header of this invocation, as Lambda tells it; empty where there is none."""
    trace = Trace.read(deployment.environ.get(LAMBDAS_TRACE, ""))
    return trace.header if trace else ""
