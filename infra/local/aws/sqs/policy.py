"""Who may send to a queue: the part of a resource policy that decides it.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html: refused unless a
statement allows it and none denies it. Elements and condition operators that are not modelled are refused
when the policy is set, rather than guessed at.
"""

import fnmatch
import json
from collections.abc import Mapping
from typing import Any

from infra.local.aws.errors import AwsError

_OPERATORS = ("ArnEquals", "ArnLike", "Bool", "StringEquals", "StringLike", "StringNotEquals")
_ELEMENTS = {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}


class Policy:
    """A queue's policy document."""

    def __init__(self, statements: list[Mapping[str, Any]]) -> None:
        self._statements = statements
        self._answers: dict[tuple[str, ...], bool] = {}

    @classmethod
    def parse(cls, text: str | None) -> "Policy":
        """No document is no permission; a malformed one is an InvalidAttributeValue."""
        if text is None:
            return cls([])
        try:
            statements = _listed(json.loads(text)["Statement"])
            for statement in statements:
                _check(statement)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AwsError(
                "InvalidAttributeValue", f"Invalid value for the parameter Policy: {error}"
            ) from error
        return cls(statements)

    def allows(self, service: str, action: str, resource: str, context: Mapping[str, str]) -> bool:
        """Whether a service may perform the action on the resource, given the condition keys' values."""
        question = (service, action, resource, *context, *context.values())
        if question not in self._answers:
            self._answers[question] = self._allows(service, action, resource, context)
        return self._answers[question]

    def _allows(self, service: str, action: str, resource: str, context: Mapping[str, str]) -> bool:
        effects = {
            statement["Effect"]
            for statement in self._statements
            if _applies(statement, service, action, resource, context)
        }
        return effects == {"Allow"}


def _check(statement: Mapping[str, Any]) -> None:
    unknown = set(statement) - _ELEMENTS
    unknown |= set(statement.get("Condition", {})) - set(_OPERATORS)
    if unknown:
        raise ValueError(f"not modelled: {', '.join(sorted(unknown))}")


def _applies(
    statement: Mapping[str, Any], service: str, action: str, resource: str, context: Mapping[str, str]
) -> bool:
    return (
        _names_principal(statement.get("Principal"), service)
        and _any_like(action.lower(), [pattern.lower() for pattern in _listed(statement["Action"])])
        and _any_like(resource, _listed(statement.get("Resource", "*")))
        and all(
            _holds(operator, context.get(key), _listed(wanted))
            for operator, tests in statement.get("Condition", {}).items()
            for key, wanted in tests.items()
        )
    )


def _names_principal(principal: Any, service: str) -> bool:
    if principal == "*":
        return True
    if not isinstance(principal, Mapping):
        return False
    return service in _listed(principal.get("Service", [])) or "*" in _listed(principal.get("AWS", []))


def _holds(operator: str, actual: str | None, wanted: list[str]) -> bool:
    if actual is None:
        return operator == "StringNotEquals"
    texts = [_text(value) for value in wanted]
    if operator == "StringNotEquals":
        return actual not in texts
    if operator in ("ArnEquals", "ArnLike", "StringLike"):
        return _any_like(actual, texts)
    return actual in texts


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _any_like(actual: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(actual, pattern) for pattern in patterns)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
