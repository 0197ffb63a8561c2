"""Each alarm leads to its section of the runbook, each section to its alarm, and its commands are ours."""

import re
import shlex

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from infra.checks import watching
from infra.checks.template import Template
from infra.ops.cli import app

RUNBOOK = watching.RUNBOOK.read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", RUNBOOK, flags=re.MULTILINE)[1:]
OURS = [line.strip() for line in re.findall(r"(?:^\$ |`)(postroom [^`#\n]+)", RUNBOOK, flags=re.MULTILINE)]


def test_each_alarm_has_its_section_and_each_section_its_alarm(shipped: Template) -> None:
    assert list(watching.alarm_leads_to_its_page(shipped)) == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_each_section_says_what_it_means_where_to_look_and_how_it_ends(section: str) -> None:
    parts = re.findall(r"^\*\*(\w+)\.\*\*", section, flags=re.MULTILINE)

    assert parts == ["Means", "Look", "End"]
    assert "aws " in section or "postroom " in section


@pytest.mark.parametrize("line", sorted(set(OURS)))
def test_each_command_is_one_that_there_is(line: str) -> None:
    words = shlex.split(line)[1:]
    command = get_command(app)

    while isinstance(command, TyperGroup) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]

    assert not isinstance(command, TyperGroup), line
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\$\(id (\w+)\)", RUNBOOK)) - {"NAME"}))
def test_each_resource_is_one_that_there_is(shipped: Template, name: str) -> None:
    assert name in shipped.resources
