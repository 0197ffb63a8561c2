"""Commands of the local run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from infra.expand import TemplateError
from infra.local.servers import PortTakenError


def parser(program: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Its help ends with the examples, as they are written."""
    return argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an option: a whole number from `least` up to and including `most`."""
    bounds = f"from {least}" + (f" to {most}" if most is not None else "")

    def parsed(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {bounds}")
        return number

    return parsed


def setting(text: str) -> tuple[str, str]:
    """The type of an option that names a value: `NAME=VALUE`."""
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def run(commands: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Do what `run` of the parsed command says. Returns the exit code, 2 for what cannot run here."""
    parsed = commands.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except PortTakenError as error:
        sys.stderr.write(f"{error.strerror}\n")
    except TemplateError as error:
        sys.stderr.write(f"the template: {error}\n")
    return 2
