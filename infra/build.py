"""Build the functions as they are deployed: `sam build` with the Lambda runtime's Python, then byte code."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import binaries, packages
from infra.expand import TemplateError, read_template
from infra.interpreters import NoInterpreter, find_interpreter, runtime
from infra.machine import architecture
from infra.requirements import for_platform

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "template.yaml"
SAM = ROOT / ".venv-sam" / "bin" / "sam"
ARTEFACTS = ROOT / ".aws-sam" / "build"


Alike = Sequence[Sequence[Path]]
"""Packages, those of the same content together."""


class WrongBuild(Exception):
    """The build is not what the functions need."""


@dataclass(frozen=True)
class Build:
    """For which runtime (`python3.13`) and architecture, and the interpreter of that runtime."""

    runtime: str
    architecture: str
    interpreter: Path
    place: Path = ARTEFACTS

    def make(self) -> Alike:
        """Build, byte-compile and inspect. Returns what was built, alike packages together.

        Raises `CalledProcessError` when a step fails, `WrongBuild` when the outcome would not do.
        """
        path = os.pathsep.join([str(self.interpreter.parent), os.environ.get("PATH", "")])
        # Left to itself it resolves for this machine, then fetches the other's wheels without their hashes.
        pip = for_platform(binaries.PLATFORMS[self.architecture])
        given = ["--build-dir", self.place, "--parameter-overrides", f"Architecture={self.architecture}"]
        run([SAM, "build", *given], PATH=path, **pip)
        built = packages.alike(artefacts(self.place))
        self._compile(built)
        self._inspect([first for first, *_ in built])
        return built

    def _compile(self, built: Alike) -> None:
        for first, *others in built:
            packages.drop_unused(first)
            compile_bytes(self.interpreter, first)
            for other in others:
                packages.make_like(other, first)

    def _inspect(self, different: Sequence[Path]) -> None:
        for artefact in different:
            inspect(artefact, self.runtime, self.architecture)
        if large := packages.too_large(different):
            raise WrongBuild("\n".join(f"{name}: {size}" for name, size in large.items()))


def inspect(artefact: Path, runtime: str, architecture: str) -> None:
    """Raise `WrongBuild` for a wheel of another processor or Python, which would fail when first imported."""
    if wrong := list(binaries.foreign(artefact, architecture)):
        raise WrongBuild(f"not for {architecture}: {', '.join(map(str, wrong))}")
    if wrong := list(binaries.unfit_wheels(artefact, runtime, architecture)):
        raise WrongBuild(f"no wheel for {runtime} on {architecture}: {', '.join(map(str, wrong))}")
    if not binaries.compiled(artefact):
        raise WrongBuild(f"{artefact} has no compiled library: was a wheel built from source?")


def artefacts(place: Path = ARTEFACTS) -> Sequence[Path]:
    """What is uploaded: one directory per function and layer."""
    return sorted(path for path in place.iterdir() if path.is_dir())


def compile_bytes(interpreter: Path, artefact: Path) -> None:
    """Add byte code, which `sam build` leaves out and a cold start would make anew each time.

    Unchecked: the files' times change when they are packed, and the sources never change once deployed.
    In one process, so that equal sources become equal bytes.
    Source: docs.python.org/3/library/py_compile.html#py_compile.PycInvalidationMode
    """
    home = "/opt" if packages.is_layer(artefact) else "/var/task"
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", artefact, "-p", home]
    run([interpreter, "-m", "compileall", *options, artefact], PYTHONHASHSEED="0")


def run(command: list[Any], **variables: str) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, env={**os.environ, **variables}, check=True)


def digests(built: Alike) -> Mapping[str, str]:
    """Each package's hash, by its name."""
    return {each.name: digest for group in built for digest in [packages.digest(group[0])] for each in group}


def report(built: Alike) -> None:
    hashes = digests(built)
    for group in built:
        size, bound = packages.megabytes(group[0]), packages.limit(group[0])
        for artefact in group:
            print(f"{artefact.name:24} {size:6.1f} MB of {bound:.0f}  sha256:{hashes[artefact.name][:16]}")
    print(f"{'the whole build':24} sha256:{packages.digest_of_all(hashes)}")


def compare(first: Mapping[str, str], second: Mapping[str, str]) -> None:
    """Raise `WrongBuild` unless two builds have the same hashes."""
    different = dict(first.items() ^ second.items())
    if different:
        raise WrongBuild(f"built twice, and another came of it: {', '.join(sorted(different))}")
    print("built twice: the same hash")


def _arguments(default: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.build", description=__doc__)
    parser.add_argument("--architecture", choices=list(binaries.MACHINES), default=default)
    parser.add_argument("--here", dest="architecture", action="store_const", const=architecture())
    parser.add_argument("--place", type=Path, default=ARTEFACTS, help="directory to build into")
    parser.add_argument("--find", action="store_true", help="only say which Python it would build with")
    parser.add_argument("--twice", action="store_true", help="build again, and compare")
    parser.add_argument("--no-validation", action="store_true", help="take the template for valid")
    return parser.parse_args()


def main() -> int:
    try:
        template = read_template(TEMPLATE)
        arguments = _arguments(str(template["Parameters"]["Architecture"]["Default"]))
        interpreter = find_interpreter(runtime(template), dict(os.environ))
        if arguments.find:
            print(interpreter)
            return 0
        if not arguments.no_validation:
            run([SAM, "validate", "--lint"])
        build = Build(runtime(template), arguments.architecture, interpreter, arguments.place)
        built = build.make()
        report(built)
        if arguments.twice:
            hashes = digests(built)
            compare(hashes, digests(build.make()))
    except (NoInterpreter, TemplateError, WrongBuild) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
