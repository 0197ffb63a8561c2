"""The text of a subscriber's handler file and of its first test, as the formatter would leave it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from infra.scaffold.asked import Asked

LINE_LENGTH = 110

HANDLER = '''\
"""{event} → {name}, once in effect."""

{imports}


{decorator}
def {function}(job: Job[{model}]) -> {returns}:
{body}

handler = {entry}
'''

TEST = '''\
"""{event} → {name}: the same message again, a worker that dies at any of its calls, one effect."""

{imports}


def test_it_takes_effect_once_whenever_its_worker_dies() -> None:
    event = published({constant})

    assert_effect_once(handler, event{once})


{test}'''


def handler_file(asked: Asked) -> str:
    form, kind = asked.form, asked.kind.value
    imported = [(_relative(module), name) for module, name in asked.event.imports]
    imported += [(module, name) for module, names in form.imports.items() for name in names]
    imported += [(".postroom.aws.queue_entry", "queue_handler")]
    imported += [(".postroom.jobs", name) for name in (kind.title(), "Job", f"{kind}_job")]
    since = asked.since
    declared = [
        f'"{asked.name}"',
        f"on={asked.event.constant}",
        f"since=datetime({since.year}, {since.month}, {since.day}, tzinfo=UTC)",
    ]
    return HANDLER.format(
        event=asked.event.name,
        name=asked.name,
        imports=f"from datetime import UTC, datetime\n\n{_imports(imported)}",
        decorator=_wrapped(f"@{kind}_job(", declared, ")"),
        function=asked.function,
        model=asked.event.model,
        returns=form.returns,
        body=asked.filled(form.body),
        entry=asked.filled(form.entry),
    )


def first_test(asked: Asked) -> str:
    """For `tests/unit/subscribers`."""
    imported = [(asked.event.module, asked.event.constant), (f"handlers.{asked.module}", "handler")]
    imported += [(f"handlers.{asked.module}", asked.function), ("handlers.postroom.jobs", "Job")]
    imported += [("infra.testkit", "assert_effect_once"), ("tests.unit.events.bodies", "published")]
    imported += [(module, name) for module, names in asked.form.test_imports.items() for name in names]
    return TEST.format(
        event=asked.event.name,
        name=asked.name,
        imports=_imports(imported),
        constant=asked.event.constant,
        once=asked.form.once,
        test=asked.filled(asked.form.test),
    )


def _relative(module: str) -> str:
    return f".{module.partition('.')[2]}"


def _imports(imported: Iterable[tuple[str, str]]) -> str:
    names: Mapping[str, set[str]] = defaultdict(set)
    for module, name in imported:
        names[module].add(name)
    return "\n".join(_import(module, sorted(names[module], key=_constants_first)) for module in sorted(names))


def _import(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    return line if len(line) <= LINE_LENGTH else _wrapped(f"from {module} import (", names, ")")


def _constants_first(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _wrapped(head: str, items: Sequence[str], tail: str) -> str:
    """On one line if it fits, else an item a line."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= LINE_LENGTH:
        return line
    return "\n".join([head, *(f"    {item}," for item in items), tail])
