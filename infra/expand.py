"""Expand a SAM template into the CloudFormation that would be deployed, without AWS."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import boto3
import yaml
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

_LOCAL_CODE = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
}


class _Loader(yaml.SafeLoader):
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


def parse(text: str) -> dict[str, Any]:
    """Return the template as written, intrinsics in their long form."""
    return cast(dict[str, Any], yaml.load(text, Loader=_Loader))  # noqa: S506 (a SafeLoader)


def expand(
    path: Path, parameters: Mapping[str, str] | None = None, *, region: str = "eu-west-1"
) -> dict[str, Any]:
    """Return the CloudFormation template that SAM makes of the file at `path`.

    Intrinsics stay as they are; only SAM's own resources are replaced. Raises
    `samtranslator.model.exceptions.InvalidDocumentException` when SAM would refuse the template.
    """
    return transform(parse(path.read_text(encoding="utf-8")), parameters, region=region)


def transform(
    template: Mapping[str, Any], parameters: Mapping[str, str] | None = None, *, region: str = "eu-west-1"
) -> dict[str, Any]:
    """Return what SAM makes of a parsed template, which is left as it was."""
    source = copy.deepcopy(dict(template))
    for properties, name in _local_code(source):
        properties[name] = f"s3://built/{str(properties[name]).strip('/')}"
    session = boto3.Session(region_name=region)
    # No managed policy is ever looked up by name: roles here are explicit or given by ARN.
    translator = Translator({}, Parser(), boto_session=session)
    expanded = translator.translate(source, parameter_values=dict(parameters or {}))
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

    Raises `KeyError` for a parameter that has neither, and for a given one that the template lacks.
    """
    declared = template.get("Parameters", {})
    values = {name: str(body["Default"]) for name, body in declared.items() if "Default" in body}
    values |= given or {}
    if wrong := sorted(values.keys() ^ declared.keys()):
        raise KeyError(f"parameters without a value, or unknown to the template: {', '.join(wrong)}")
    return values
