"""Build what is deployed: `sam build` with the Lambda runtime's Python, then byte code, then archives."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import binaries, packages, sources
from infra.expand import TemplateError, read_template
from infra.interpreters import NoInterpreter, find_interpreter, runtime
from infra.machine import architecture
from infra.requirements import for_platform

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "template.yaml"
SAM = ROOT / ".venv-sam" / "bin" / "sam"
ARTEFACTS = ROOT / ".aws-sam" / "build"


@dataclass(frozen=True, slots=True)
class Package:
    """What was built, in a directory, and the functions or the layer that are deployed from it."""

    directory: Path
    names: Sequence[str]


class WrongBuild(Exception):
    """The build is not what the functions need."""


@dataclass(frozen=True)
class Build:
    """For which runtime (`python3.13`) and architecture, and the interpreter of that runtime."""

    runtime: str
    architecture: str
    interpreter: Path
    place: Path = ARTEFACTS

    def make(self, template: Mapping[str, Any]) -> Sequence[Package]:
        """Build, byte-compile, inspect and pack what the template deploys.

        Raises `CalledProcessError` when a step fails, `WrongBuild` when the outcome would not do.
        """
        self._build(sources.first_of_each(template))
        built = [Package(self.place / first, names) for first, names in sources.groups(template).items()]
        for package in built:
            packages.drop_unused(package.directory)
            compile_bytes(self.interpreter, package.directory)
        self._inspect([package.directory for package in built])
        self._pack(template, built)
        return built

    def _build(self, template: dict[str, Any]) -> None:
        path = os.pathsep.join([str(self.interpreter.parent), os.environ.get("PATH", "")])
        written = self.place.with_name(f"{self.place.name}.sources.json")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(json.dumps(template), encoding="utf-8")
        given = ["--template", written, "--base-dir", ROOT, "--build-dir", self.place]
        # Left to itself it resolves for this machine, then fetches the other's wheels without their hashes.
        pip = for_platform(binaries.PLATFORMS[self.architecture])
        overrides = ["--parameter-overrides", f"Architecture={self.architecture}"]
        run([SAM, "build", *given, *overrides], PATH=path, **pip)

    def _inspect(self, different: Sequence[Path]) -> None:
        for artefact in different:
            inspect(artefact, self.runtime, self.architecture)
        if large := packages.too_large(different):
            raise WrongBuild("\n".join(f"{name}: {size}" for name, size in large.items()))

    def _pack(self, template: Mapping[str, Any], built: Sequence[Package]) -> None:
        """`sam deploy` takes an archive as it is; it would pack a directory anew for each function."""
        archives = {package.names[0]: f"{package.directory.name}.zip" for package in built}
        for package in built:
            sources.pack(package.directory, self.place / archives[package.names[0]])
        # JSON is YAML as well, and read in no time.
        text = json.dumps(sources.deployed_from(template, archives), indent=1)
        (self.place / "template.yaml").write_text(text, encoding="utf-8")


def inspect(artefact: Path, runtime: str, architecture: str) -> None:
    """Raise `WrongBuild` for a wheel of another processor or Python, which would fail when first imported."""
    if wrong := list(binaries.foreign(artefact, architecture)):
        raise WrongBuild(f"not for {architecture}: {', '.join(map(str, wrong))}")
    if wrong := list(binaries.unfit_wheels(artefact, runtime, architecture)):
        raise WrongBuild(f"no wheel for {runtime} on {architecture}: {', '.join(map(str, wrong))}")
    if not binaries.compiled(artefact):
        raise WrongBuild(f"{artefact} has no compiled library: was a wheel built from source?")


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


def digests(built: Sequence[Package]) -> Mapping[str, str]:
    """Each function's and layer's hash, by its name."""
    return {
        name: digest
        for package in built
        for digest in [packages.digest(package.directory)]
        for name in package.names
    }


def report(built: Sequence[Package]) -> None:
    hashes = digests(built)
    for package in built:
        size, bound = packages.megabytes(package.directory), packages.limit(package.directory)
        for name in package.names:
            print(f"{name:24} {size:6.1f} MB of {bound:.0f}  sha256:{hashes[name][:16]}")
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
        built = build.make(template)
        report(built)
        if arguments.twice:
            hashes = digests(built)
            compare(hashes, digests(build.make(template)))
    except (NoInterpreter, TemplateError, WrongBuild) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
