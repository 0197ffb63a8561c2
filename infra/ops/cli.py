"""`postroom`: operate a stack, on this machine or on AWS."""

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


def main() -> None:
    """The command's entry point."""
    quiet_engine()
    app()


if __name__ == "__main__":
    main()
