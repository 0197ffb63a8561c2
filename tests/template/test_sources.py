"""What has to be built once is built once, and every function is deployed from what was built for it."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.expand import read_template
from infra.sources import deployed_from, first_of_each, groups, pack, package_directory
from tests.template.conftest import ROOT


@pytest.fixture
def shipped_source() -> dict[str, Any]:
    return read_template(ROOT / "template.yaml")


def _function(**properties: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::Serverless::Function",
        "Properties": {"Handler": "handlers.a.handler", **properties},
    }


def _template(**resources: dict[str, Any]) -> dict[str, Any]:
    return {
        "Globals": {"Function": {"CodeUri": "handlers/", "Runtime": "python3.13"}},
        "Resources": resources,
    }


def test_shipped_functions_are_one_build_and_the_layer_another(shipped_source: dict[str, Any]) -> None:
    found = groups(shipped_source)

    functions = {
        name
        for name, each in shipped_source["Resources"].items()
        if each["Type"] == "AWS::Serverless::Function"
    }
    assert {frozenset(names) for names in found.values()} == {frozenset(functions), frozenset({"PdfLayer"})}


@pytest.mark.parametrize(
    "other",
    [
        _function(CodeUri="elsewhere/"),
        _function(Runtime="python3.14"),
        _function(Architectures=["x86_64"]),
        _function(Handler="others.a.handler"),
        {**_function(), "Metadata": {"BuildMethod": "makefile"}},
    ],
    ids=["code", "runtime", "architecture", "package", "way"],
)
def test_function_that_is_built_otherwise_is_built_by_itself(other: dict[str, Any]) -> None:
    template = _template(
        One=_function(), Other=other, Twin=_function(Handler="handlers.b.handler", Timeout=9)
    )

    assert groups(template) == {"One": ["One", "Twin"], "Other": ["Other"]}


def test_nothing_is_given_to_the_builder_but_what_it_builds(shipped_source: dict[str, Any]) -> None:
    reduced = first_of_each(shipped_source)

    assert list(reduced["Resources"]) == list(groups(shipped_source))
    assert all("Events" not in each["Properties"] for each in reduced["Resources"].values())
    assert reduced["Globals"] == shipped_source["Globals"]


def test_every_function_and_layer_is_deployed_from_the_archive_of_its_source(
    shipped_source: dict[str, Any],
) -> None:
    archives = {first: f"{first}.zip" for first in groups(shipped_source)}

    resources = deployed_from(shipped_source, archives)["Resources"]

    for first, names in groups(shipped_source).items():
        assert {package_directory(resources[name], Path("build")) for name in names} == {
            Path("build") / first
        }


def test_nothing_but_the_code_is_deployed_otherwise_than_it_is_written(
    shipped_source: dict[str, Any],
) -> None:
    archives = {first: f"{first}.zip" for first in groups(shipped_source)}

    built = deployed_from(shipped_source, archives)

    for name, resource in built["Resources"].items():
        for code in {"CodeUri", "ContentUri"} & resource.get("Properties", {}).keys():
            if code in shipped_source["Resources"][name]["Properties"]:
                resource["Properties"][code] = shipped_source["Resources"][name]["Properties"][code]
            else:
                del resource["Properties"][code]
    assert built == shipped_source


def test_equal_directories_become_equal_archives_whenever_their_files_were_written(tmp_path: Path) -> None:
    for name, seconds in (("one", 10**9), ("other", 10**9 + 10**7)):
        (tmp_path / name / "inner").mkdir(parents=True)
        for file in ("b.py", "inner/a.py"):
            path = tmp_path / name / file
            path.write_text("x = 1\n", encoding="utf-8")
            path.chmod(0o600 if name == "one" else 0o755)
            os.utime(path, (seconds, seconds))
        pack(tmp_path / name, tmp_path / f"{name}.zip")

    first, second = ((tmp_path / f"{name}.zip").read_bytes() for name in ("one", "other"))
    entries = zipfile.ZipFile(tmp_path / "one.zip").infolist()
    assert first == second
    assert [entry.filename for entry in entries] == ["b.py", "inner/a.py"]
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}
