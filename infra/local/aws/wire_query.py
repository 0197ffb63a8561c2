"""The AWS query protocol, of SNS: form in, XML out, both driven by botocore's own description of the service.

https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from botocore.model import ListShape, MapShape, Shape, StructureShape

from infra.local.aws.descriptions import service_model
from infra.local.aws.errors import AwsError
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws

SERVICE = "sns"
_NAMESPACE = "http://sns.amazonaws.com/doc/2010-03-31/"
_HEADERS = {"content-type": "text/xml", "x-amzn-requestid": "local"}

Tree = dict[str, Any]


def answer(aws: LocalAws, request: Request) -> Answer:
    form = parse_qsl(request.body.decode(), keep_blank_values=True)
    operation = dict(form).get("Action", "")
    try:
        result = aws.request(SERVICE, operation, _params(operation, form))
    except AwsError as error:
        return _error(error)
    return Answer(200, _HEADERS, _document(operation, result).encode())


def _params(operation: str, form: Iterable[tuple[str, str]]) -> dict[str, Any]:
    if operation not in service_model(SERVICE).operation_names:
        return {}
    shape = service_model(SERVICE).operation_model(operation).input_shape
    params: dict[str, Any] = {} if shape is None else _read(shape, _tree(form))
    return params


def _tree(form: Iterable[tuple[str, str]]) -> Tree:
    """`A.member.1.B=x` as nested dictionaries."""
    root: Tree = {}
    for name, text in form:
        *steps, last = name.split(".")
        node = root
        for step in steps:
            node = node.setdefault(step, {})
        node[last] = text
    return root


def _read(shape: Shape, node: Any) -> Any:
    if isinstance(shape, StructureShape):
        return {name: _read(inner, node[name]) for name, inner in shape.members.items() if name in node}
    if isinstance(shape, ListShape):
        return [_read(shape.member, element) for element in _numbered(node, "member")]
    if isinstance(shape, MapShape):
        key, value = (
            shape.key.serialization.get("name", "key"),
            shape.value.serialization.get("name", "value"),
        )
        return {entry[key]: _read(shape.value, entry[value]) for entry in _numbered(node, "entry")}
    return node == "true" if shape.type_name == "boolean" else node


def _numbered(node: Any, word: str) -> list[Any]:
    """The elements of a list or map; an empty one is sent as an empty text."""
    elements = node.get(word, {}) if node else {}
    return [elements[number] for number in sorted(elements, key=int)]


def _document(operation: str, result: Mapping[str, Any]) -> str:
    shape = service_model(SERVICE).operation_model(operation).output_shape
    inner = "" if shape is None else f"<{operation}Result>{_write(shape, result)}</{operation}Result>"
    metadata = "<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata>"
    return f'<{operation}Response xmlns="{_NAMESPACE}">{inner}{metadata}</{operation}Response>'


def _write(shape: Shape, value: Any) -> str:
    if isinstance(shape, StructureShape):
        members = ((name, inner) for name, inner in shape.members.items() if name in value)
        return "".join(f"<{name}>{_write(inner, value[name])}</{name}>" for name, inner in members)
    if isinstance(shape, ListShape):
        return "".join(f"<member>{_write(shape.member, element)}</member>" for element in value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def _error(error: AwsError) -> Answer:
    fault = "Receiver" if error.status >= 500 else "Sender"
    detail = f"<Type>{fault}</Type><Code>{error.code}</Code><Message>{escape(error.message)}</Message>"
    inner = f"<Error>{detail}</Error><RequestId>local</RequestId>"
    body = f'<ErrorResponse xmlns="{_NAMESPACE}">{inner}</ErrorResponse>'
    return Answer(error.status, _HEADERS, body.encode())
