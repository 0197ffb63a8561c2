"""A process that is killed reports nothing, whether it has done its work or not."""

import os

import pytest

from infra.local.doomed import Doomed
from infra.local.functions import RunnerError

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize("handler", ["", "operator.eq"], ids=["before its work", "after its work"])
def test_a_killed_process_ends_without_an_answer(handler: str) -> None:
    with pytest.raises(RunnerError) as ended:
        Doomed(ENVIRON, handler).run({"Records": []}, None)

    assert ended.value.error.kind == "Runtime.ExitError"


def test_a_handler_that_fails_otherwise_is_no_crash() -> None:
    with pytest.raises(RuntimeError, match="TypeError"):
        Doomed(ENVIRON, "operator.add").run({}, None)
