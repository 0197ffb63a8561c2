"""Lock what is deployed: pyproject.toml says which ranges, the requirements files which wheels, by hash.

`sam build` reads requirements files only, and pip checks every download against the hashes in them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.binaries import PLATFORMS
from infra.expand import read_template
from infra.interpreters import NoInterpreter, find_interpreter, runtime
from infra.lock import Lock, merged, read, text

ROOT = Path(__file__).parent.parent
FOR_WORK_HERE = ("local", "dev")
"""Extras of which nothing is deployed."""
GLIBC = ("manylinux2014", "manylinux_2_17", "manylinux_2_28", "manylinux_2_34")
"""What runs on Amazon Linux 2023, whose glibc is 2.34:
docs.aws.amazon.com/linux/al2023/ug/compare-with-al2.html"""


def declared(root: Path = ROOT) -> Mapping[Path, Sequence[str]]:
    """Each requirements file, and the ranges that pyproject.toml declares for it: a layer's are an extra."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    layers = {
        root / "infra" / "layers" / name / "requirements.txt": sorted(ranges)
        for name, ranges in extras.items()
        if name not in FOR_WORK_HERE
    }
    return {root / "handlers" / "requirements.txt": sorted(project["dependencies"]), **layers}


def stale(root: Path = ROOT) -> Iterator[Path]:
    """Yield the requirements files that do not lock what pyproject.toml declares. Asks no index."""
    for path, ranges in declared(root).items():
        if not path.is_file() or not read(path.read_text(encoding="utf-8")).locks(ranges):
            yield path


def resolve(interpreter: Path, ranges: Sequence[str]) -> Lock:
    """Ask the package index for the wheels of both architectures. Raises `CalledProcessError`."""
    found = [_resolved(interpreter, ranges, platform) for platform in PLATFORMS.values()]
    return Lock(tuple(ranges), merged(found))


def _resolved(interpreter: Path, ranges: Sequence[str], platform: str) -> Mapping[str, str]:
    """Package and version (`name==1.0`) → SHA-256 of its wheel."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [interpreter, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", report, "--target", directory, *ranges]
        environ = {**os.environ, **for_platform(platform)}
        subprocess.run([str(part) for part in command], env=environ, check=True)
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        f"{each['metadata']['name']}=={each['metadata']['version']}": each["download_info"]["archive_info"][
            "hashes"
        ]["sha256"]
        for each in installed
    }


def for_platform(platform: str) -> Mapping[str, str]:
    """Variables with which pip takes wheels for a machine of that name, and nothing else, checked by hash
    wherever there are hashes: pip.pypa.io/en/stable/topics/configuration/#environment-variables"""
    return {
        "PIP_PLATFORM": " ".join(f"{libc}_{platform}" for libc in GLIBC),
        "PIP_ONLY_BINARY": ":all:",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def main() -> int:
    name = runtime(read_template(ROOT / "template.yaml"))
    try:
        interpreter = find_interpreter(name, dict(os.environ))
    except NoInterpreter as error:
        print(error, file=sys.stderr)
        return 1
    for path, ranges in declared().items():
        path.write_text(text(resolve(interpreter, ranges)), encoding="utf-8")
        print(f"locked {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
