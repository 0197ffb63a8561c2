"""What every command has in common: which stack it works on, and errors told without a traceback."""

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, ParamSpec

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from handlers.postroom.errors import PostroomError
from infra.ops.core.errors import NoStack, Refused
from infra.ops.core.target import LOCAL_URL, Target, local, on_aws
from infra.ops.desk import Desk, console

P = ParamSpec("P")
Command = Callable[Concatenate[Desk, P], None]
REFUSED, UNREACHABLE = 1, 2
"""Exit codes: it was not done for a reason of its own; there was no stack to ask."""

_WHERE = "Where"
_WHERE_OPTIONS = ("stack", "is_local", "endpoint", "region", "profile")
Stack = Annotated[
    str | None,
    typer.Option(
        "--stack",
        envvar="POSTROOM_STACK",
        metavar="NAME",
        help="A stack deployed on AWS; without it, the local run.",
        rich_help_panel=_WHERE,
    ),
]
Local = Annotated[
    bool, typer.Option("--local", help="The local run, whatever POSTROOM_STACK says.", rich_help_panel=_WHERE)
]
Endpoint = Annotated[
    str, typer.Option(metavar="URL", help="Where the local run listens.", rich_help_panel=_WHERE)
]
Region = Annotated[
    str | None, typer.Option(metavar="NAME", help="AWS region of the stack.", rich_help_panel=_WHERE)
]
Profile = Annotated[
    str | None, typer.Option(metavar="NAME", help="AWS profile to use.", rich_help_panel=_WHERE)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def command(app: typer.Typer, name: str, *examples: str) -> Callable[[Command[P]], None]:
    """Add a command to `app`. The function gets a `Desk` where its stack is, and its own options."""

    def add(function: Command[P]) -> None:
        act: Callable[..., None] = function

        def run(context: typer.Context, *, as_json: bool, **options: Any) -> None:
            where = {name: options.pop(name) for name in _WHERE_OPTIONS}
            with_errors_told(lambda: act(Desk(_target(context, **where), as_json), **options))

        functools.update_wrapper(run, function)
        run.__signature__ = _signature(function)  # type: ignore[attr-defined]
        app.command(name, epilog=_epilog(examples))(run)

    return add


def with_errors_told(act: Callable[[], None]) -> None:
    """Run it; whatever is to be expected of the world ends it with a sentence and an exit code."""
    try:
        act()
    except Refused as reason:
        _end(str(reason), REFUSED)
    except NoStack as reason:
        _end(str(reason), UNREACHABLE)
    except NoRegionError:
        _end("AWS: in which region? Give --region NAME, or set AWS_DEFAULT_REGION", UNREACHABLE)
    except (ClientError, BotoCoreError, PostroomError) as error:
        _end(f"AWS: {error}", UNREACHABLE)


def quiet_engine() -> None:
    """The engine logs for CloudWatch; here its errors are told by the command."""
    logging.getLogger("postroom").addHandler(logging.NullHandler())
    logging.getLogger("postroom").propagate = False


def _target(
    context: typer.Context,
    *,
    stack: str | None,
    is_local: bool,
    endpoint: str,
    region: str | None,
    profile: str | None,
) -> Target:
    if isinstance(context.obj, Target):
        return context.obj
    source = context.get_parameter_source("stack")
    if is_local and source and source.name == "COMMANDLINE":
        raise Refused("--stack and --local are two different stacks: give one of them")
    if is_local or stack is None:
        return local(endpoint)
    return on_aws(stack, boto3.Session(region_name=region, profile_name=profile))


def _signature(function: Callable[..., None]) -> inspect.Signature:
    """The function's own parameters and the common ones, as Typer is to see them."""
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    keyword, default = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    common = [
        inspect.Parameter("as_json", keyword, default=False, annotation=Json),
        inspect.Parameter("stack", keyword, default=None, annotation=Stack),
        inspect.Parameter("is_local", keyword, default=False, annotation=Local),
        inspect.Parameter("endpoint", keyword, default=LOCAL_URL, annotation=Endpoint),
        inspect.Parameter("region", keyword, default=None, annotation=Region),
        inspect.Parameter("profile", keyword, default=None, annotation=Profile),
    ]
    context = inspect.Parameter("context", keyword, default=default, annotation=typer.Context)
    return inspect.Signature([context, *(each.replace(kind=keyword) for each in own), *common])


def _epilog(examples: tuple[str, ...]) -> str:
    return "\n\n".join(["Examples:", *(f"  $ postroom {example}" for example in examples)])


def _end(text: str, code: int) -> None:
    console(stderr=True).print(text, markup=False)
    raise typer.Exit(code)
