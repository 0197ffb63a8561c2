"""The shop's card gateway and mail server, for functions that run in other processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from infra.local.providers.cards import CardGateway
from infra.local.providers.cards_app import cards_app
from infra.local.providers.mail import Mailbox, MailServer
from infra.local.providers.outages import Switch
from infra.local.servers import LOOPBACK, Servers


@dataclass(frozen=True)
class Providers:
    """What they were asked for, and where they listen."""

    gateway: CardGateway
    mailbox: Mailbox
    cards_url: str
    mail_url: str


@contextmanager
def providers() -> Iterator[Providers]:
    """Serve both on free ports until the block ends."""
    servers = Servers()
    gateway, mailbox = CardGateway(Switch(time.time)), Mailbox()
    try:
        cards_url = servers.http(cards_app(gateway))
        port = servers.protocol(MailServer(mailbox, Switch(time.time)).session)
        yield Providers(gateway, mailbox, cards_url, f"smtp://{LOOPBACK}:{port}")
    finally:
        servers.close()
