"""The routes under /jobs, one function's: list, look, cancel."""

from collections.abc import Sequence
from dataclasses import dataclass

from .cancellation import CANCEL_JOBS
from .http import Answer, Request, Respond
from .job_lists import LIST_JOBS
from .operations import Operation
from .status import SHOW_JOBS


@dataclass(frozen=True, slots=True)
class JobsApi:
    status: Respond
    lists: Respond
    cancel: Respond

    @property
    def operations(self) -> Sequence[Operation]:
        return [LIST_JOBS, SHOW_JOBS, CANCEL_JOBS]

    def __call__(self, request: Request) -> Answer:
        if request.method == "DELETE":
            return self.cancel(request)
        return self.status(request) if "id" in request.path_parameters else self.lists(request)
