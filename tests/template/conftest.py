"""The shipped template, expanded once."""

from functools import cache
from pathlib import Path

import pytest

from infra.checks.template import Template

ROOT = Path(__file__).parent.parent.parent


@cache
def _shipped() -> Template:
    return Template.load(ROOT / "template.yaml")


@pytest.fixture
def shipped() -> Template:
    return _shipped()
