"""Pages of the local run: what came out of it, and the switches of its providers."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from infra.local.aws import LocalAws
from infra.local.providers.mail import Mailbox
from infra.local.providers.outages import FOREVER, Switch
from infra.local.providers.webhooks import WebhookReceiver

PLACES = ("/mails", "/texts", "/invoices", "/received", "/queues")
MOST_SECONDS = 86_400
STYLE = (
    "body{font:16px system-ui;margin:2rem;max-width:60rem}td,th{padding:.2rem 1rem .2rem 0;text-align:left}"
)


@dataclass(frozen=True)
class Outside:
    """The world around the stack, as far as it is played here."""

    mailbox: Mailbox
    receiver: WebhookReceiver
    switches: Mapping[str, Switch]


def pages(aws: LocalAws, outside: Outside, listing: Callable[[], Mapping[str, Any]]) -> Starlette:
    """Return the pages as an application. It answers to the names of this machine only.

    `listing` tells what the stack is made of, for the `postroom` command.
    """
    views = _Views(aws, outside)

    async def stack(_request: Request) -> Response:
        return JSONResponse(listing())

    return Starlette(
        routes=[
            Route("/", views.home),
            Route("/queues", views.queues),
            Route("/mails", views.mails),
            Route("/mails/{number:int}", views.mail),
            Route("/texts", views.texts),
            Route("/received", views.received),
            Route("/invoices", views.files),
            Route("/invoices/{bucket}/{key:path}", views.file),
            Route("/_control/stack", stack),
            Route("/_control/{provider}/outage", views.outage, methods=["POST", "DELETE"]),
            Route("/_control/{provider}/latency", views.latency, methods=["POST"]),
        ],
        exception_handlers={400: _refused, 404: _not_found},
        # Other sites must not reach this through a name of theirs that resolves to loopback.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
    )


class _Views:
    def __init__(self, aws: LocalAws, outside: Outside) -> None:
        self._aws = aws
        self._mailbox = outside.mailbox
        self._receiver = outside.receiver
        self._switches = outside.switches

    async def home(self, _request: Request) -> Response:
        links = "".join(f'<li><a href="{path}">{path}</a>' for path in PLACES)
        providers = (
            (name, "out of order" if switch.is_down else "works") for name, switch in self._switches.items()
        )
        return _page(
            "Postroom on this machine",
            f"<ul>{links}</ul>{_table(('provider', 'state'), providers)}"
            f"{_table(('queue', 'waiting', 'in flight', 'delayed'), self._counts())}",
        )

    async def queues(self, _request: Request) -> Response:
        names = ("waiting", "inFlight", "delayed")
        return JSONResponse({row[0]: dict(zip(names, row[1:], strict=True)) for row in self._counts()})

    async def mails(self, _request: Request) -> Response:
        rows = [
            (
                f'<a href="/mails/{number}">{html.escape(mail.subject)}</a>',
                ", ".join(mail.recipients),
                len(mail.times),
            )
            for number, mail in enumerate(self._mailbox.mails)
        ]
        return _page(
            f"{len(rows)} mails", _table(("subject", "to", "copies received"), rows, first_is_html=True)
        )

    async def mail(self, request: Request) -> Response:
        mails = self._mailbox.mails
        number = request.path_params["number"]
        if number >= len(mails):
            return PlainTextResponse("no such mail\n", 404)
        return PlainTextResponse(mails[number].raw.decode("utf-8", "replace"))

    async def texts(self, _request: Request) -> Response:
        with self._aws.region.changed:
            rows = [(text.number, text.message) for text in self._aws.sns.phones.texts]
        return _page(f"{len(rows)} SMS", _table(("to", "text"), rows))

    async def received(self, _request: Request) -> Response:
        received = self._receiver.received
        head = ("webhook-id", "to", "signature", "answered", "body")
        rows = [
            (each.id, each.url, f"{_validity(each.valid)} ({each.signatures})", each.status, each.body)
            for each in received
        ]
        return _page(f"{len(rows)} webhooks received", _table(head, rows))

    async def files(self, _request: Request) -> Response:
        with self._aws.region.changed:
            names = [(bucket, key) for bucket, files in self._aws.s3.buckets.items() for key in files]
        rows = [
            (f'<a href="/invoices/{bucket}/{html.escape(key)}">{html.escape(key)}</a>',)
            for bucket, key in names
        ]
        return _page(f"{len(rows)} files", _table(("file",), rows, first_is_html=True))

    async def file(self, request: Request) -> Response:
        bucket, key = request.path_params["bucket"], request.path_params["key"]
        with self._aws.region.changed:
            stored = self._aws.s3.buckets.get(bucket, {}).get(key)
        if stored is None:
            return PlainTextResponse("no such file\n", 404)
        return Response(stored.body, media_type=stored.content_type)

    async def outage(self, request: Request) -> Response:
        switch = self._switches.get(request.path_params["provider"])
        if switch is None:
            return _unknown(self._switches)
        if request.method == "DELETE":
            switch.mend()
        else:
            switch.fail(await _seconds(request, FOREVER))
        return JSONResponse({"down": switch.is_down})

    async def latency(self, request: Request) -> Response:
        switch = self._switches.get(request.path_params["provider"])
        if switch is None:
            return _unknown(self._switches)
        switch.latency = await _seconds(request, 0)
        return JSONResponse({"latencySeconds": switch.latency})

    def _counts(self) -> list[tuple[str, int, int, int]]:
        with self._aws.region.changed:
            return [(name, *queue.counts()) for name, queue in self._aws.sqs.queues.items()]


def _validity(valid: bool) -> str:
    return "valid" if valid else "NOT valid"


async def _seconds(request: Request, otherwise: float) -> float:
    """The body is `{"seconds": number}` or nothing. Raises `HTTPException` for anything else."""
    body = await request.body()
    if not body:
        return otherwise
    try:
        seconds = json.loads(body)["seconds"]
    except (ValueError, LookupError, TypeError):
        seconds = None
    if type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:
        raise HTTPException(400, f'the body is {{"seconds": NUMBER}}, from 0 to {MOST_SECONDS}, or empty')
    return float(seconds)


async def _refused(_request: Request, error: Exception) -> Response:
    return JSONResponse({"message": error.detail if isinstance(error, HTTPException) else str(error)}, 400)


async def _not_found(_request: Request, _error: Exception) -> Response:
    """What API Gateway says of a route that it does not know."""
    return JSONResponse({"message": "Not Found"}, 404)


def _unknown(switches: Iterable[str]) -> Response:
    return JSONResponse({"message": f"providers are: {', '.join(switches)}"}, 404)


def _page(title: str, body: str) -> Response:
    return HTMLResponse(f"<!doctype html><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{body}")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], *, first_is_html: bool = False) -> str:
    lines = [
        "".join(f"<td>{_cell(value, first_is_html and column == 0)}" for column, value in enumerate(row))
        for row in rows
    ]
    body = "".join(f"<tr>{line}" for line in lines)
    return f"<table><tr>{''.join(f'<th>{name}' for name in head)}{body}</table>"


def _cell(value: object, is_html: bool) -> str:
    return str(value) if is_html else html.escape(str(value))
