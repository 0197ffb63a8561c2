"""The OpenAPI and AsyncAPI documents: valid, whole, and what the code says."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel

from handlers.postroom.events import EventType
from infra import events
from infra.checks.requests import function_of, routes
from infra.checks.template import Template
from infra.contracts import asyncapi, files
from infra.contracts.routes import operations, problems
from infra.events import PUBLISHED, ROOT
from tests.openapi import read_yaml


def published(path: Path) -> dict[str, Any]:
    return read_yaml(ROOT / path)


@pytest.fixture
def openapi() -> dict[str, Any]:
    return published(files.OPENAPI)


@pytest.fixture
def topics_and_queues() -> dict[str, Any]:
    return published(files.ASYNCAPI)


def test_the_committed_contracts_say_what_the_code_says(shipped: Template) -> None:
    assert list(files.problems(shipped)) == []


def test_a_contract_that_is_behind_the_code_is_a_problem(shipped: Template, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    files.write(shipped, tmp_path)
    behind = (tmp_path / files.OPENAPI).read_text("utf-8").replace("get-jobs-id", "get-job")
    (tmp_path / files.OPENAPI).write_text(behind, encoding="utf-8")

    found = list(files.problems(shipped, tmp_path))

    assert found == [f"{files.OPENAPI}: differs from the code: make contracts"]
    assert files.write(shipped, tmp_path) == [files.OPENAPI]
    assert list(files.problems(shipped, tmp_path)) == []


def test_the_api_s_document_is_valid_openapi(openapi: dict[str, Any]) -> None:
    assert openapi["openapi"].startswith("3.1.")
    assert list(OpenAPIV31SpecValidator(openapi).iter_errors()) == []


def test_every_route_of_the_template_is_in_the_document(shipped: Template, openapi: dict[str, Any]) -> None:
    documented = {f"{method.upper()} {path}" for path, each in openapi["paths"].items() for method in each}

    assert documented == {route for route, _ in routes(shipped)}


def test_a_route_that_tells_nothing_of_itself_is_a_problem(shipped: Template) -> None:
    silent = "handlers.schedule_sweep.handler"  # an entry that answers no request
    its = {route for route, each in routes(shipped) if function_of(shipped, each) == "JobsFunction"}
    template = _with_handler(shipped, "JobsFunction", silent)

    assert {each.partition(":")[0] for each in problems(template)} == its
    assert its.isdisjoint(operations(template))


def test_whoever_starts_work_needs_a_key_and_is_told_where_to_look(openapi: dict[str, Any]) -> None:
    posts = {path: each["post"] for path, each in openapi["paths"].items() if "post" in each}
    starts = {path: post for path, post in posts.items() if "202" in post["responses"]}

    assert starts
    for post in starts.values():
        assert {"$ref": "#/components/parameters/Idempotency-Key"} in post["parameters"]
        assert {"Location", "Retry-After"} <= set(post["responses"]["202"]["headers"])


def test_every_reference_of_the_events_document_leads_somewhere(topics_and_queues: dict[str, Any]) -> None:
    references = list(_references(topics_and_queues))

    assert references
    for reference in references:
        _found(topics_and_queues, reference)


def test_every_message_has_an_example_that_fits_its_payload(topics_and_queues: dict[str, Any]) -> None:
    for name, message in topics_and_queues["components"]["messages"].items():
        schema = {**topics_and_queues, **message["payload"]}
        for example in message["examples"]:
            errors = [error.message for error in Draft202012Validator(schema).iter_errors(example["payload"])]
            assert errors == [], name


def test_each_subscriber_s_queue_holds_the_versions_that_it_can_read(
    shipped: Template, topics_and_queues: dict[str, Any]
) -> None:
    types = {each.name: each for each in events.event_types()}

    for job_type in shipped.jobs.values():
        readable = {
            f"{name}.v{version}"
            for name in job_type.on.names
            for version in range(types[name].oldest, types[name].version + 1)
        }
        assert set(topics_and_queues["channels"][job_type.subscriber]["messages"]) == readable


def test_every_subscription_is_a_consumer_of_its_topic(
    shipped: Template, topics_and_queues: dict[str, Any]
) -> None:
    sends = [each for each in topics_and_queues["operations"].values() if "sns" in each.get("bindings", {})]
    consumers = [each for send in sends for each in send["bindings"]["sns"]["consumers"]]

    subscriptions = [each for _, each in shipped.subscriptions() if each["Protocol"] == "sqs"]
    assert len(consumers) == len(subscriptions)
    told = sorted(str(each["filterPolicy"]) for each in consumers)
    assert told == sorted(str(each["FilterPolicy"]) for each in subscriptions)


def test_what_no_topic_feeds_is_sent_to_by_name(shipped: Template, topics_and_queues: dict[str, Any]) -> None:
    types = {each.name: each for each in events.event_types()}

    for job_type in shipped.jobs.values():
        direct = all(types[name].direct for name in job_type.on.names)
        assert (f"send-{job_type.subscriber}" in topics_and_queues["operations"]) is direct


class Line(BaseModel):
    sku: str


class Shipped(BaseModel):
    lines: list[Line]


def test_an_older_version_that_can_still_be_read_is_in_the_document(tmp_path: Path) -> None:
    old = EventType("parcel.shipped", 1, Shipped)
    new = replace(old, version=2, upcasts={1: lambda data: data})
    body = {"data": {"lines": [{"sku": "a"}]}}
    for event_type in (old, new):
        events.write_new([event_type], tmp_path)
        _write(tmp_path / PUBLISHED / events.file_name(event_type, event_type.version), body)

    document = asyncapi.document(Template({}), {new.name: new}, "1", tmp_path)

    assert set(document["components"]["messages"]) == {"parcel.shipped.v1", "parcel.shipped.v2"}
    moved = document["components"]["schemas"]["parcel.shipped.v1"]["properties"]["data"]["properties"][
        "lines"
    ]
    assert _found(document, moved["items"]["$ref"]) == {
        "properties": {"sku": {"type": "string"}},
        "required": ["sku"],
        "title": "Line",
        "type": "object",
    }


def _with_handler(template: Template, function: str, handler: str) -> Template:
    resource = template.resources[function]
    changed = {**resource, "Properties": {**resource["Properties"], "Handler": handler}}
    return replace(template, resources={**template.resources, function: changed})


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)


def _found(document: Mapping[str, Any], reference: str) -> Any:
    found: Any = document
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found
