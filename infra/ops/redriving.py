"""One redrive as an operator asked for it: counted, agreed to, tried on a canary, done, written down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import typer

from infra.ops.commands import REFUSED
from infra.ops.core import move_tasks, redrive
from infra.ops.core.causes import DeadJob
from infra.ops.core.move_tasks import MoveTask
from infra.ops.core.queues import DeadLetterQueue, Queue
from infra.ops.core.redrive import Filter
from infra.ops.desk import Desk
from infra.ops.dlq_shown import name_of
from infra.ops.texts import age, count


@dataclass(frozen=True)
class Redriving:
    """`rate` is messages a second. `canary` letters go first, and are waited for so many seconds."""

    desk: Desk
    pair: DeadLetterQueue
    which: Filter
    rate: int | None = None
    canary: int = 0
    wait_seconds: float = 60
    to: Queue | None = None

    @cached_property
    def number(self) -> int:
        """How many letters it is about. Raises `Refused` while a move task is at work."""
        move_tasks.refuse_while_moving(self.desk.target, self.pair)
        if self.which.is_all:
            return self.pair.dead.depth
        return len(redrive.chosen(self.desk.target, self.pair, self.which))

    @property
    def question(self) -> str:
        first = f", {self.canary} first" if self.canary else ""
        at = f", at most {self.rate} a second" if self.rate else ""
        what = "all " if self.which.is_all else ""
        return f"Redrive {what}{count(self.number, 'dead letter')} of {self.pair.subscriber}{first}{at}?"

    def run(self) -> None:
        """Exits 1 when not everything that was asked for is done."""
        states = self._try_first() if self.canary else {}
        if any(state != "completed" for state in states.values()):
            self._finish(
                {"canary": states}, "the canary did not complete; the rest is not redriven", good=False
            )
        elif self.which.is_all:
            self._move_all({"canary": states} if states else {})
        else:
            self._resend_rest({"canary": states} if states else {})

    def _try_first(self) -> Mapping[str, str]:
        """The state of each canary by job; a letter that could not even be sent is `not sent`."""
        sent, failed = self._resend(None, self.canary)
        with self.desk.progress("waiting for the canary") as report:
            states = redrive.outcomes(self.desk.target, sent, self.wait_seconds, report)
        told = {**states, **dict.fromkeys(failed, "not sent")}
        self.desk.tell(f"canary: {', '.join(f'{job} is {state}' for job, state in told.items())}")
        return told

    def _move_all(self, document: Mapping[str, Any]) -> None:
        target = self.desk.target
        move_tasks.start(target, self.pair, self.rate, self.to)
        self._write_down(messages=self.pair.dead.depth, way="move task", to=self.to.arn if self.to else None)
        task = self._followed()
        took = age(target.clock() - task.started_at)
        document = {**document, "status": task.status, "moved": task.moved, "of": task.to_move}
        text = f"{task.status.lower()}: SQS moved {task.moved} of {task.to_move} in {took}"
        self._finish(document, text, good=task.status == "COMPLETED")

    def _followed(self) -> MoveTask:
        try:
            with self.desk.progress("moving") as report:
                return move_tasks.follow(self.desk.target, self.pair, report)
        except KeyboardInterrupt:
            self.desk.tell(f"SQS goes on with it; `postroom dlq stop {self.pair.subscriber}` stops it")
            raise

    def _resend_rest(self, document: Mapping[str, Any]) -> None:
        sent, failed = self._resend(self.rate, None)
        ids = [name_of(job) for job in sent]
        lost = "".join(f"\nnot redriven, still a dead letter: {job}: {why}" for job, why in failed.items())
        document = {**document, "redriven": ids, "failed": failed}
        self._finish(document, f"redriven: {', '.join(ids) or 'none'}{lost}", good=not failed)

    def _resend(self, rate: int | None, limit: int | None) -> tuple[Sequence[DeadJob], Mapping[str, str]]:
        with self.desk.progress("redriving") as report:
            resent = redrive.resend(
                self.desk.target, self.pair, self.which, report, limit=limit, rate=rate, to=self.to
            )
        ids = [name_of(job) for job in resent.sent]
        self._write_down(messages=len(ids), way="one by one", jobs=ids)
        return resent.sent, {name_of(job): reason for job, reason in resent.failed}

    def _write_down(self, **facts: Any) -> None:
        known = {"subscriber": self.pair.subscriber, "rate": self.rate, **facts}
        entry = self.desk.note(
            "dlq redrive", **{name: fact for name, fact in known.items() if fact is not None}
        )
        self.desk.tell(f"audit: {entry}")

    def _finish(self, document: Mapping[str, Any], text: str, *, good: bool) -> None:
        shown = {"subscriber": self.pair.subscriber, **document}
        self.desk.result(shown, lambda console: console.print(text, markup=False))
        if not good:
            raise typer.Exit(REFUSED)
