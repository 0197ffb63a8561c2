"""The import contracts in pyproject.toml fail on what they forbid, in modules nobody has listed."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest

from infra.checks.contracts import PatternContract

ROOT = Path(__file__).parent.parent.parent
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
ENTRIES = "Nothing imports an entry"
PURE = "The pure parts of engine and business touch no AWS, network, environment, clock or chance"
ENGINE = "The engine knows no business"
DEPLOYED = "What is deployed needs nothing that is not"


def broken(importer: str, imported: str) -> set[str]:
    """The names of the contracts that one import breaks."""
    graph = grimp.ImportGraph()
    for module in (importer, imported):
        graph.add_module(module)
    graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="import")
    return {
        options["name"] for options in OPTIONS["contracts"] if not _contract(options).check(graph, False).kept
    }


def _contract(options: dict[str, Any]) -> PatternContract:
    patterns = {key: options[key] for key in ("importers", "forbidden")}
    return PatternContract(name=options["name"], session_options={}, contract_options=patterns)


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("handlers.queue_new", "handlers.queue_other", ENTRIES),
        ("handlers.business.orders", "handlers.api_new", ENTRIES),
        ("infra.local.stack", "handlers.stream_relay", ENTRIES),
        ("infra.ops.drill", "handlers.schedule_new", ENTRIES),
        ("handlers.postroom.new", "boto3", PURE),
        ("handlers.postroom", "botocore", PURE),
        ("handlers.postroom.new", "time", PURE),
        ("handlers.business.new", "os", PURE),
        ("handlers.business.deep.new", "random", PURE),
        ("handlers.postroom.new", "handlers.postroom.aws", PURE),
        ("handlers.postroom.new", "handlers.postroom.aws.entry", PURE),
        ("handlers.postroom.awsome", "time", PURE),
        ("handlers.business.new", "handlers.providers.new", PURE),
        ("handlers.postroom.new", "handlers.business", ENGINE),
        ("handlers.postroom.aws.new", "handlers.business.models", ENGINE),
        ("handlers.queue_new", "infra.local", DEPLOYED),
        ("handlers.postroom.aws.new", "tests", DEPLOYED),
    ],
)
def test_forbidden_import_breaks_its_contract(importer: str, imported: str, contract: str) -> None:
    assert contract in broken(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("handlers.queue_new", "handlers.postroom.aws.entry"),
        ("handlers.queue_new", "handlers.providers.new"),
        ("handlers.queue_new", "handlers.business.receipts"),
        ("handlers.business.new", "handlers.postroom.jobs"),
        ("handlers.postroom.aws.new", "boto3"),
        ("handlers.postroom.aws.new", "time"),
        ("handlers.providers.new", "os"),
        ("infra.local.stack", "handlers.postroom.jobs"),
        ("handlers.postroom.new", "datetime"),
    ],
)
def test_allowed_import_breaks_nothing(importer: str, imported: str) -> None:
    assert broken(importer, imported) == set()


@pytest.mark.parametrize(
    ("path", "banned"),
    [
        ("handlers/business/new.py", True),
        ("handlers/postroom/new.py", True),
        ("handlers/queue_new.py", True),
        ("handlers/postroom/aws/new.py", False),
        ("infra/local/new.py", False),
    ],
)
def test_only_the_shell_reads_the_clock(path: str, banned: bool) -> None:
    source = "from datetime import UTC, datetime\n\nnow = datetime.now(UTC)\n"
    command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", path, "-"]

    ran = subprocess.run(command, input=source, text=True, capture_output=True, cwd=ROOT, check=False)

    assert ("TID251" in ran.stdout) == banned
