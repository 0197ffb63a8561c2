"""What a fan-out says of itself."""

import pytest

from handlers.postroom.fanout import Progress, attributes

BORN = {**attributes(25, "campaign-1-started"), "pk": "campaign-1"}


def test_an_entity_that_is_no_fan_out_has_no_progress() -> None:
    assert Progress.of({"pk": "order-1"}) is None


@pytest.mark.parametrize(
    ("enqueued", "step", "stopped", "step_states", "state"),
    [
        (0, "started", False, ["queued"], "queued"),
        (0, "started", False, ["running"], "running"),
        (10, "step.2", False, ["queued"], "running"),
        (10, "step.2", False, ["retrying"], "retrying"),
        (10, "step.2", False, ["dead"], "dead"),
        (10, "step.2", False, ["cancelled"], "cancelled"),
        (10, "step.2", True, ["queued"], "cancelling"),
        (10, "step.2", True, ["cancelled"], "cancelled"),
        (25, None, False, [], "completed"),
        (25, None, True, [], "cancelled"),
    ],
)
def test_its_state_is_that_of_its_present_step_until_there_is_none(
    enqueued: int, step: str | None, stopped: bool, step_states: list[str], state: str
) -> None:
    assert Progress(25, enqueued, step, stopped).state(step_states) == state


def test_progress_as_born() -> None:
    progress = Progress.of(BORN)

    assert progress == Progress(25, 0, "campaign-1-started", is_stopped=False)
    assert progress.step_after("campaign-1-started") is None
