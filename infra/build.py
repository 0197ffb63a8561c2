"""Build the functions as they are deployed: `sam build` with the Lambda runtime's Python, then byte code."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra import binaries
from infra.expand import parse

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "template.yaml"
SAM = ROOT / ".venv-sam" / "bin" / "sam"
ARTEFACTS = ROOT / ".aws-sam" / "build"


class NoInterpreter(Exception):
    """The machine has no working Python of the version that the functions run on."""

    def __init__(self, name: str) -> None:
        version = name.removeprefix("python")
        super().__init__(
            f"make build needs {name}, the version that template.yaml runs on Lambda, with pip,\n"
            "and found none on PATH or in pyenv. To get one:\n"
            f"  pyenv install {version} | apt install {name} {name}-venv | brew install python@{version}\n"
            "then run make build again. All else works without it."
        )


def runtime(template: dict[str, Any]) -> str:
    """The name of the interpreter that the functions run on, such as `python3.13`."""
    return str(template["Globals"]["Function"]["Runtime"])


def default_architecture(template: dict[str, Any]) -> str:
    return str(template["Parameters"]["Architecture"]["Default"])


def find_interpreter(name: str, environ: dict[str, str]) -> Path:
    """Return a working interpreter of that name. Raises `NoInterpreter`."""
    for candidate in _candidates(name, environ):
        if _works(candidate):
            return candidate
    raise NoInterpreter(name)


def _candidates(name: str, environ: dict[str, str]) -> Iterator[Path]:
    for directory in environ.get("PATH", "").split(os.pathsep):
        yield Path(directory) / name
    pyenv = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{name.removeprefix('python')}*/bin/{name}"), reverse=True)


def _works(interpreter: Path) -> bool:
    # pyenv's shims exist for versions that are installed but not chosen, and fail when run
    if not os.access(interpreter, os.X_OK):
        return False
    return subprocess.run([interpreter, "-c", "import pip"], capture_output=True, check=False).returncode == 0


class WrongBuild(Exception):
    """The build is not what the functions need."""


def build(interpreter: Path, architecture: str) -> None:
    """Validate, build, byte-compile and inspect.

    Raises `CalledProcessError` when a step fails, `WrongBuild` when a library is for another processor.
    """
    path = os.pathsep.join([str(interpreter.parent), os.environ.get("PATH", "")])
    _run([SAM, "validate", "--lint"])
    _run([SAM, "build", "--parameter-overrides", f"Architecture={architecture}"], PATH=path)
    for artefact in artefacts():
        compile_bytes(interpreter, artefact)
        inspect(artefact, architecture)


def inspect(artefact: Path, architecture: str) -> None:
    """Raise `WrongBuild` for a wheel of another processor, which would fail only when first imported."""
    if wrong := list(binaries.foreign(artefact, architecture)):
        raise WrongBuild(f"not for {architecture}: {', '.join(map(str, wrong))}")
    if not binaries.compiled(artefact):
        raise WrongBuild(f"{artefact} has no compiled library: was a wheel built from source?")


def artefacts() -> list[Path]:
    """What is uploaded: one directory per function and layer."""
    return sorted(path for path in ARTEFACTS.iterdir() if path.is_dir())


def compile_bytes(interpreter: Path, artefact: Path) -> None:
    """Add byte code, which `sam build` leaves out and a cold start would make anew each time.

    Unchecked: the files' times change when they are packed, and the sources never change once deployed.
    Source: docs.python.org/3/library/py_compile.html#py_compile.PycInvalidationMode
    """
    home = "/opt" if (artefact / "python").is_dir() else "/var/task"
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", artefact, "-p", home]
    _run([interpreter, "-m", "compileall", *options, artefact], PYTHONHASHSEED="0")


def megabytes(directory: Path) -> float:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6


def _run(command: list[Any], **variables: str) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, env={**os.environ, **variables}, check=True)


def _arguments(default: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architecture", choices=list(binaries.MACHINES), default=default)
    parser.add_argument("--find", action="store_true", help="only say which Python it would build with")
    return parser.parse_args()


def _report() -> None:
    for artefact in artefacts():
        print(f"{artefact.name:20} {megabytes(artefact):6.1f} MB unpacked")


def main() -> int:
    template = parse(TEMPLATE.read_text(encoding="utf-8"))
    arguments = _arguments(default_architecture(template))
    try:
        interpreter = find_interpreter(runtime(template), dict(os.environ))
        if arguments.find:
            print(interpreter)
            return 0
        build(interpreter, arguments.architecture)
        _report()
    except (NoInterpreter, WrongBuild) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
