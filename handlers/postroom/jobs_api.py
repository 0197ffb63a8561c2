"""The routes under /jobs, one function's: list, look, cancel."""

from dataclasses import dataclass

from .http import Answer, Request, Respond


@dataclass(frozen=True, slots=True)
class JobsApi:
    status: Respond
    lists: Respond
    cancel: Respond

    def __call__(self, request: Request) -> Answer:
        if request.method == "DELETE":
            return self.cancel(request)
        return self.status(request) if "id" in request.path_parameters else self.lists(request)
