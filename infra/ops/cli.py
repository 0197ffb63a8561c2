"""`postroom`: operate a stack, on this machine or on AWS."""

from importlib import import_module
from importlib.util import find_spec

import typer

from infra.ops import dlq, doctor, jobs, new, outbox
from infra.ops.commands import quiet_engine

app = typer.Typer(
    name="postroom",
    help="Operate Postroom: dead letters, jobs and the outbox, of the local run or of a stack on AWS.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(dlq.app, name="dlq")
app.add_typer(jobs.app, name="jobs")
app.add_typer(outbox.app, name="outbox")
app.add_typer(new.app, name="new")
doctor.add_to(app)
if find_spec("infra.ops.customers"):
    # the example business's own: it goes with it
    app.add_typer(import_module("infra.ops.customers").app, name="customers")


def main() -> None:
    """The command's entry point."""
    quiet_engine()
    app()


if __name__ == "__main__":
    main()
