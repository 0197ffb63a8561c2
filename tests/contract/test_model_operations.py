"""The model answers what is called somewhere, and nothing else."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name

from infra.local.aws import LocalAws, ManualClock
from infra.local.aws.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
CALLERS = ("handlers", "infra", "tests")
# The bodies of the operations themselves call nothing.
NOT_CALLERS = ROOT / "infra" / "local" / "aws"

SERVICES = tuple(OPERATIONS)


@cache
def methods(service: str) -> dict[str, str]:
    """A client's methods and the operations they call."""
    model = botocore.session.get_session().get_service_model(service)
    return {xform_name(operation): operation for operation in model.operation_names}


@cache
def called() -> frozenset[str]:
    """Every client method that the sources call, told from other methods by how boto3 is called."""
    paths = (path for caller in CALLERS for path in (ROOT / caller).rglob("*.py"))
    sources = (path.read_text(encoding="utf-8") for path in paths if NOT_CALLERS not in path.parents)
    return frozenset(name for source in sources for name in names(ast.parse(source)))


def names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from called_by(node)


def called_by(call: ast.Call) -> Iterator[str]:
    """`client.put_item(TableName=...)`, `call("put_item", ...)` or `call(client.put_item, TableName=...)`."""
    if isinstance(call.func, ast.Attribute) and not call.args and is_boto3_style(call):
        yield call.func.attr
    for argument in call.args[:1]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value
        if isinstance(argument, ast.Attribute) and is_boto3_style(call):
            yield argument.attr


def is_boto3_style(call: ast.Call) -> bool:
    """Keyword arguments only, each capitalised; `**request` may hold anything."""
    keywords = [keyword.arg for keyword in call.keywords]
    return bool(keywords) and all(name is None or name[0].isupper() for name in keywords)


@pytest.mark.parametrize("service", SERVICES)
def test_the_model_answers_exactly_what_is_called(service: str) -> None:
    operations = {operation for name, operation in methods(service).items() if name in called()}

    assert operations == set(OPERATIONS[service])


@pytest.mark.parametrize("service", SERVICES)
def test_every_operation_of_the_list_is_there(service: str) -> None:
    implementation = getattr(LocalAws(ManualClock()), service)

    assert [one for one in OPERATIONS[service] if not hasattr(implementation, xform_name(one))] == []
