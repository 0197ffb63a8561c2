from __future__ import annotations

from typing import Any

import pytest

from infra.local.batch_answers import MalformedAnswerError, failed_items

batch = ["m-1", "m-2"]


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_empty_answer_is_success_of_all(answer: Any) -> None:
    assert failed_items(answer, batch) == frozenset()


def test_named_records_failed_and_no_other() -> None:
    assert failed_items({"batchItemFailures": [{"itemIdentifier": "m-2"}]}, batch) == {"m-2"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("ok", id="BATCH-5-text"),
        pytest.param({"BatchItemFailures": []}, id="BATCH-5-wrong-case"),
        pytest.param({"batchItemFailures": "m-1"}, id="BATCH-5-no-list"),
        pytest.param({"batchItemFailures": [{"itemIdentifier": ""}]}, id="BATCH-5-empty"),
        pytest.param({"batchItemFailures": [{"itemIdentifier": None}]}, id="BATCH-5-null"),
        pytest.param({"batchItemFailures": [{"ItemIdentifier": "m-1"}]}, id="BATCH-5-misnamed"),
        pytest.param({"batchItemFailures": [{"itemIdentifier": "foreign"}]}, id="BATCH-5-foreign"),
        pytest.param({"batchItemFailures": ["m-1"]}, id="BATCH-5-bare"),
    ],
)
def test_malformed_answer_fails_the_whole_batch(answer: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        failed_items(answer, batch)
