"""Expand a SAM template into the CloudFormation that would be deployed, without AWS."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import boto3
import yaml

from infra.parameters import text, wrong

_LOCAL_CODE = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
}


class TemplateError(ValueError):
    """Something in the template that does not run on this machine, or nowhere."""


# libyaml reads a template in a tenth of the time, where PyYAML comes with it.
_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Which of the two it is is known when this runs, and to no type.
class _Loader(_SafeLoader):  # type: ignore[misc,valid-type]
    """YAML with CloudFormation's short-form intrinsics (`!Ref`, `!Sub`, ...)."""


def _intrinsic(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    key = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
    if isinstance(node, yaml.ScalarNode):
        text = str(loader.construct_scalar(node))
        return {key: text.split(".", 1) if tag == "GetAtt" else text}
    if isinstance(node, yaml.SequenceNode):
        return {key: loader.construct_sequence(node, deep=True)}
    return {key: loader.construct_mapping(cast(yaml.MappingNode, node), deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)


def read_template(path: Path) -> dict[str, Any]:
    """Return the template at `path` as written, intrinsics in their long form. Raises `TemplateError`."""
    return parse(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TemplateError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error


def parse(text: str) -> dict[str, Any]:
    """Return a template's text as written, intrinsics in their long form. Raises `TemplateError`."""
    try:
        template = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise TemplateError(f"{line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise TemplateError(f"it is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise TemplateError("it has no Resources")
    for logical_id, resource in template["Resources"].items():
        if not isinstance(resource, dict) or "Type" not in resource:
            raise TemplateError(f"{logical_id} has no Type")
    return template


def expand(
    path: Path, parameters: Mapping[str, str] | None = None, *, region: str = "eu-west-1"
) -> dict[str, Any]:
    """Return the CloudFormation template that SAM makes of the file at `path`.

    Intrinsics stay as they are; only SAM's own resources are replaced. Raises
    `TemplateError` when SAM would refuse the template.
    """
    given = tuple(sorted((parameters or {}).items()))
    return cast(dict[str, Any], json.loads(_expanded(_text(path), given, region)))


@lru_cache(maxsize=8)
def _expanded(text: str, parameters: tuple[tuple[str, str], ...], region: str) -> str:
    """As JSON: each caller gets a copy of its own, and reading it takes a hundredth of expanding it."""
    return json.dumps(transform(parse(text), dict(parameters), region=region))


def transform(
    template: Mapping[str, Any], parameters: Mapping[str, str] | None = None, *, region: str = "eu-west-1"
) -> dict[str, Any]:
    """Return what SAM makes of a parsed template, which is left as it was. Raises `TemplateError`."""
    # Half a second to import, and not all that may expand a template does.
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    source = copy.deepcopy(dict(template))
    for properties, name in _local_code(source):
        properties[name] = f"s3://built/{str(properties[name]).strip('/')}"
    session = boto3.Session(region_name=region)
    # No managed policy is ever looked up by name: roles here are explicit or given by ARN.
    translator = Translator({}, Parser(), boto_session=session)
    try:
        expanded = translator.translate(source, parameter_values=dict(parameters or {}))
    except InvalidDocumentException as error:
        raise TemplateError("; ".join(cause.message for cause in error.causes)) from error
    translator.metrics.publish()  # to nowhere, but what is unpublished is complained about
    return cast(dict[str, Any], expanded)


def _local_code(template: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """SAM takes uploaded code only; `sam package` would have replaced these paths."""
    global_function = template.get("Globals", {}).get("Function", {})
    if "CodeUri" in global_function:
        yield global_function, "CodeUri"
    for resource in template["Resources"].values():
        name = _LOCAL_CODE.get(resource["Type"])
        if name and name in resource.get("Properties", {}):
            yield resource["Properties"], name


def parameter_values(template: Mapping[str, Any], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the value of every parameter: the given one, or else the template's default.

    Raises `TemplateError` for a parameter that has neither, for a given one that the template lacks, and for
    a value that the template does not allow.
    """
    declared = template.get("Parameters", {})
    values = {name: text(body["Default"]) for name, body in declared.items() if "Default" in body}
    values |= given or {}
    if unknown := sorted(values.keys() ^ declared.keys()):
        raise TemplateError(f"parameters without a value, or unknown to the template: {', '.join(unknown)}")
    for name, value in values.items():
        if reason := wrong(declared[name], value):
            raise TemplateError(f"parameter {name} {reason}")
    return values
