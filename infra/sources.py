"""Functions of one source are built once, and deployed from one archive."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Template = Mapping[str, Any]
FUNCTION, LAYER = "AWS::Serverless::Function", "AWS::Serverless::LayerVersion"
CODE = {FUNCTION: "CodeUri", LAYER: "ContentUri"}
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""What every file in an archive is dated, so that the same files become the same bytes."""
READABLE = 0o100644 << 16
"""An ordinary file that everybody may read, as Lambda's users have to:
docs.aws.amazon.com/lambda/latest/dg/troubleshooting-deployment.html"""


def groups(template: Template) -> Mapping[str, Sequence[str]]:
    """What one build is enough for: the first function or layer of each source → all of that source."""
    found: dict[str, list[str]] = {}
    for name, resource in _built(template):
        found.setdefault(_source(template, name, resource), []).append(name)
    return {first: [first, *others] for first, *others in found.values()}


def first_of_each(template: Template) -> dict[str, Any]:
    """The template with nothing but what has to be built, for `sam build`."""
    kept = {name: dict(template["Resources"][name]) for name in groups(template)}
    for resource in kept.values():
        properties = resource["Properties"]
        resource["Properties"] = {key: value for key, value in properties.items() if key != "Events"}
    return {key: value for key, value in template.items() if key != "Outputs"} | {"Resources": kept}


def deployed_from(template: Template, archives: Mapping[str, str]) -> dict[str, Any]:
    """The template with each function and layer taken from the archive of its group, by the group's first."""
    resources = dict(template["Resources"])
    for first, names in groups(template).items():
        for name in names:
            resource = resources[name]
            code = {CODE[resource["Type"]]: archives[first]}
            resources[name] = {**resource, "Properties": {**resource["Properties"], **code}}
    return {**template, "Resources": resources}


def package_directory(resource: Mapping[str, Any], build: Path) -> Path:
    """Where the unpacked package of a function or layer of a built template is."""
    return build / Path(resource["Properties"][CODE[resource["Type"]]]).stem


def pack(package: Path, archive: Path) -> None:
    """Write a directory as the archive that Lambda takes: equal directories become equal bytes."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(path for path in package.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(package).as_posix(), EARLIEST)
            entry.external_attr = READABLE
            file.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _built(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, resource in template["Resources"].items():
        if resource["Type"] in CODE:
            yield name, resource


def _source(template: Template, name: str, resource: Mapping[str, Any]) -> str:
    """What a build is made of; `sam build` takes the package that a handler is in along with its folder."""
    if resource["Type"] == LAYER:
        return name
    properties = {**template.get("Globals", {}).get("Function", {}), **resource["Properties"]}
    made_of = [properties.get(key) for key in ("CodeUri", "Runtime", "Architectures")]
    parent = str(properties["Handler"]).rsplit(".", 2)[0]
    return json.dumps([made_of, parent, resource.get("Metadata")], sort_keys=True)
