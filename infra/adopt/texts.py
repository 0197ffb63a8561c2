"""What stays but speaks of the example or bears the name: rewritten."""

from __future__ import annotations

import re
from collections.abc import Collection

from infra.checks.watching import slug

_MODULE = re.compile(r" -m ((?:infra|tests)[\w.]*)")
_RULE = re.compile(r"^([.\w$()/-]+):(?!=).*\n(?:\t.*\n)*\n?", re.MULTILINE)
_VARIABLE = re.compile(r"^(\w+_VERSION) := .*\n", re.MULTILINE)
_COMMENTED = r"(?:^#.*\n)*"

README = """\
# {title}

Made from Postroom: what need not happen before the answer still happens, once in effect, and visibly.

```console
$ make up        # the whole stack on this machine: its URLs and a token
$ make test      # every test, offline
$ make check     # style, types, imports, template, contracts
$ .venv/bin/postroom new subscriber NAME --on EVENT
```

```
template.yaml     the stack; one block per subscriber
handlers/         everything Lambda runs: a module here is a function, named by its trigger
  postroom/       the engine
  providers/      whatever speaks to the world outside
infra/            local run, template checks, build; never deployed inside the handlers
docs/             adopt.md, changing.md, decisions.md, testkit.md
```
"""
CHANGELOG = """\
# Changelog

## [Unreleased]

### Added

- The engine of Postroom, without its example shop.
"""


def pyproject(text: str, name: str, layers: Collection[str]) -> str:
    """The project's name; without the extras of `layers`, which nothing deploys any more."""
    text = re.sub(r'^name = ".*"', f'name = "{name}"', text, count=1, flags=re.MULTILINE)
    text = re.sub(r'^description = ".*"', f'description = "{name}"', text, count=1, flags=re.MULTILINE)
    for layer in layers:
        text = re.sub(rf"^{layer} = \[.*\]\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf'^ *"postroom\[{layer}\]",\n', "", text, flags=re.MULTILINE)
    return text.replace('"postroom[', f'"{name}[')


def samconfig(text: str, name: str, parameters: Collection[str]) -> str:
    """The stacks' names; without the values of these parameters."""
    lines = text.replace("postroom-", f"{name}-").splitlines(keepends=True)
    return "".join(line for line in lines if not line.strip().startswith(tuple(f'"{p}=' for p in parameters)))


def template_title(text: str, name: str) -> str:
    described = re.compile(r"^Description: .*\n(?:  .*\n)*", re.MULTILINE)
    return described.sub(f"Description: {name}\n", text, count=1)


def makefile(text: str, gone: Collection[str]) -> tuple[str, list[str]]:
    """Without the targets that run a module that is gone, and what only these needed. Returns these, too."""
    targets = [found[1] for found in _RULE.finditer(text) if _runs(found[0], gone)]
    for target in targets:
        text = _without_rule(text, target)
    words = "|".join(map(re.escape, targets))
    text = re.sub(
        r"^\.PHONY:.*$", lambda found: re.sub(rf" ({words})(?= |$)", "", found[0]), text, flags=re.MULTILINE
    )
    return _without_unused(text), targets


def runbook(text: str, name: str, template: str, resources: Collection[str]) -> str:
    """With the sections that an alarm in `template` leads to; in place of a resource that is gone: `NAME`."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    led_to = set(re.findall(r"runbook\.md#([a-z0-9-]+)", template))
    kept = [each for each in sections if slug(each.partition("\n")[0].removeprefix("## ")) in led_to]
    named = re.compile(rf"\$\(id (?:{'|'.join(sorted(resources))})\)")
    return named.sub("$(id NAME)", "".join([head, *kept])).replace("postroom-prod", f"{name}-prod")


def ci(text: str, targets: Collection[str]) -> str:
    """Without the sections that make these targets."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not re.search(rf"make ({'|'.join(targets)})\b", line))


def _runs(rule: str, gone: Collection[str]) -> bool:
    ran = set(_MODULE.findall(rule))
    return any(name in gone or f"{name}.__main__" in gone for name in ran)


def _without_rule(text: str, target: str) -> str:
    return re.sub(
        rf"{_COMMENTED}^{re.escape(target)}:(?!=).*\n(?:\t.*\n)*\n?", "", text, count=1, flags=re.MULTILINE
    )


def _without_unused(text: str) -> str:
    """Without the environments that no target asks for any more, and their versions."""
    for definition, variable in [(found[0], found[1]) for found in _VARIABLE.finditer(text)]:
        for place in set(re.findall(rf"\.venv-\S*{re.escape(f'$({variable})')}", text)):
            if text.count(place) == 1:
                text = _without_rule(text, place)
        if f"$({variable})" not in text:
            text = text.replace(definition, "")
    return text
