"""`postroom new`: begin a subscriber."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from infra.ops.commands import with_errors_told
from infra.ops.desk import console
from infra.scaffold.changes import ROOT, new_subscriber
from infra.scaffold.kinds import Kind

app = typer.Typer(help="Begin something new in this repository.", no_args_is_help=True)

_EPILOG = """Examples:

  $ postroom new subscriber fraud --on order.paid

  $ postroom new subscriber archive --on order.paid --kind call --dry-run"""


@app.callback()
def new() -> None:
    """Begin something new in this repository."""


@app.command("subscriber", epilog=_EPILOG)
def subscriber(
    name: Annotated[str, typer.Argument(help="One word of lower-case letters, such as `fraud`.")],
    on: Annotated[str, typer.Option(metavar="EVENT", help="What it works on, such as `order.paid`.")],
    kind: Annotated[
        Kind, typer.Option(help="Where its effect is: in DynamoDB (commit) or at a provider (call).")
    ] = Kind.COMMIT,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            formats=["%Y-%m-%d"],
            help="Older events do not wait for it. Today (UTC) unless given.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show a diff, and write nothing.")] = False,
) -> None:
    """Write a subscriber's first form: handlers/queue_NAME.py, its block in template.yaml, its test.

    It works as it is and passes every check: what is left is to say what it does. Nothing is written over.
    """

    def act() -> None:
        day = (since or datetime.now(UTC)).date()
        changes = new_subscriber(name, on, kind, day)
        if dry_run:
            return console().print("".join(change.diff() for change in changes), markup=False, soft_wrap=True)
        for change in changes:
            change.make(ROOT)
            console().print(f"{'wrote' if change.before is None else 'added to'} {change.path}")
        console().print(f"Now say what it does in {changes[0].path}, then: make contracts check test")
        return console().print("A `make up` that runs takes it up when it is started again.")

    with_errors_told(act)
