"""`postroom customers`: what the stack holds of a person, and its end."""

from typing import Annotated, Any

import typer
from rich.console import Console

from infra.ops.commands import DryRun, Yes, command
from infra.ops.core import erasure as core
from infra.ops.core.errors import Refused
from infra.ops.desk import Desk
from infra.ops.texts import count

app = typer.Typer(help="Customers: erase what is personal of one.", no_args_is_help=True)

ELSEWHERE = "Sign-in, mail providers and backups of the tables are not touched: delete the user there, too."


@app.callback()
def customers() -> None:
    """Customers: erase what is personal of one."""


@command(
    app,
    "erase",
    "customers erase 3f2a… --dry-run",
    "customers erase 3f2a… --email ada@example.com --email ada@example.org --yes",
)
def erase(
    desk: Desk,
    subject: Annotated[str, typer.Argument(help="The customer, as tokens name her: the claim `sub`.")],
    email: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Another address of hers in audiences."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Erase a customer's personal data: addresses, names, notes, invoices, webhooks, rows of audiences.

    Orders keep their ids, lines and amounts, and ledgers their entries: repeats of old requests and messages
    stay harmless, and what was still to be sent to her is not. Doing it again does what is left.
    """
    found = core.of_subject(desk.target, subject, email or [])
    facts: dict[str, Any] = {"subject": subject, "found": found.counts}
    if not found.counts:
        return desk.result(facts, lambda console: console.print(f"nothing personal of {subject} is left"))
    told = ", ".join(count(number, name.removesuffix("s")) for name, number in found.counts.items())
    if not desk.may(f"Erase what is personal of {subject}: {told}?", yes=yes, dry_run=dry_run):
        return desk.result({**facts, "dryRun": True}, lambda _: None)
    with desk.progress("erasing") as report:
        refused = core.erase(desk.target, subject, found, report)
    facts["refused"] = refused
    desk.note("customers erase", **facts)
    desk.result(facts, lambda console: _told(console, told))
    if refused:
        raise Refused(f"{count(refused, 'write')} came too late, as others wrote there: do it again")
    return None


def _told(console: Console, what: str) -> None:
    console.print(f"erased: {what}", markup=False)
    console.print(ELSEWHERE, markup=False)
