"""Makes each function's runner from what was built, and keeps what became of its calls."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handlers.postroom.aws.deployment import Deployment
from infra.expand import read_template
from infra.local.functions import FunctionSettings, Invocation, Runner, process_environ
from infra.local.local_run import LocalRun, endpoint
from infra.local.stack import RunnerFactory
from infra.rie.emulator import Emulated, Runtime
from infra.rie.judgement import trigger_of, wrong
from infra.rie.packages import package_of


@dataclass
class Workshop:
    """The packages in the directory `build`, each in an emulator of its own that logs to `place`."""

    build: Path
    runtime: Runtime
    place: Path
    calls: dict[str, list[Invocation]] = field(default_factory=lambda: defaultdict(list))
    emulated: dict[str, Emulated] = field(default_factory=dict)

    def observe(self, invocation: Invocation) -> None:
        self.calls[invocation.function].append(invocation)

    def runners(self, run: LocalRun) -> RunnerFactory:
        """How `run` has its functions run. Raises `FileNotFoundError` when one was not built."""
        template = read_template(self.build / "template.yaml")
        self.place.mkdir(parents=True, exist_ok=True)

        def runner(settings: FunctionSettings, _surroundings: Callable[[], Deployment]) -> Runner:
            log = self.place / f"{settings.name}.log"
            log.unlink(missing_ok=True)
            package = package_of(settings.name, template, self.build)
            environ = lambda: _environ(settings, run)  # noqa: E731
            emulated = Emulated(self.runtime, package, settings.handler, environ, log)
            self.emulated[settings.name] = emulated
            return emulated

        return runner

    def has_called(self, functions: Mapping[str, object]) -> bool:
        return functions.keys() <= self.calls.keys()

    def verdicts(self) -> Iterator[tuple[str, str, str | None]]:
        """Each function, its calls in a line, and what is wrong with one of them, if anything is."""
        for name, emulated in sorted(self.emulated.items()):
            calls = self.calls.get(name, [])
            trigger = trigger_of(emulated.handler)
            problems = [problem for call in calls if (problem := wrong(call, trigger))]
            problem = problems[0] if problems else None if calls else "was never called"
            first = f"the first {calls[0].ended - calls[0].started:4.1f} s" if calls else ""
            yield name, f"{trigger:<9}{len(calls):>4} calls  {first}", problem

    def record(self) -> Path:
        """Keep the first event of each function as a file, for a debugger or `sam local invoke --event`."""
        events = self.place / "events"
        events.mkdir(exist_ok=True)
        for name, calls in self.calls.items():
            text = json.dumps(calls[0].event, indent=2, ensure_ascii=False)
            (events / f"{name}.json").write_text(text, encoding="utf-8")
        return events


def _environ(settings: FunctionSettings, run: LocalRun) -> Mapping[str, str]:
    """Asked for at the first call: before that nobody knows where the model listens."""
    timeout = {"AWS_LAMBDA_FUNCTION_TIMEOUT": str(int(settings.timeout))}
    return {**process_environ(settings, run.aws.region.name), **endpoint(run.urls.aws), **timeout}
