"""`up`: bring the template up on this machine and say how to use it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable

from infra.local.ending import Ending
from infra.local.functions import Function, import_trouble
from infra.local.local_run import ROOT, LocalRun, RunOptions
from infra.local.narration import Narrator, log_to_terminal
from infra.local.reload import Reloader

CALLER = "ada"
REQUEST = ROOT / "docs" / "request.json"
"""The first request that `up` shows: what it does, its path and its body."""
NOT_PROVEN = (
    "permissions (IAM), encryption, real throttling and latency, concurrency limits, cold starts, alarms, "
    "sign-in, and whatever AWS does that its documentation does not say"
)


def up(options: RunOptions, *, reload: bool) -> int:
    """Run until SIGINT or SIGTERM. Returns the exit code."""
    log_to_terminal(_show)
    run = LocalRun(RunOptions(**{**vars(options), "observers": [Narrator(_show)]}))
    ending = Ending()
    # Before the start, so that what is changed during it is seen, too.
    handlers = options.template.parent / "handlers"
    reloader = Reloader(handlers, run.reload, _show, template=options.template) if reload else None
    run.start()
    _show(banner(run))
    if reloader:
        reloader.start()
    ending.wait()
    _show("stopping: what is in flight is finished or given back")
    if reloader:
        reloader.stop()
    run.stop()
    return 0


def banner(run: LocalRun) -> str:
    """What runs, where, what it does not prove, and how to make a first request."""
    token = run.stack.token(CALLER)
    way = "each function in a process of its own" if run.options.isolated else "functions in this process"
    left_out = sorted({what for _, _, what in run.stack.deployed.not_run()})
    return f"""
Postroom on this machine: {run.options.template.name} on a model of AWS in memory, {way}.
Nothing leaves 127.0.0.1, nothing is kept when it ends. Process {os.getpid()}; Ctrl-C ends it.
{"".join(troubles(run.stack.functions.values()))}
Not proven here: {NOT_PROVEN}.
In the template, but not run: {", ".join(left_out)}.

  API      {run.urls.api}
  Mails    {run.urls.api}/mails      (sent to {run.urls.mail})
  Invoices {run.urls.api}/invoices
  Webhooks {run.urls.api}/received   (register {run.urls.webhooks}/anything: see below)
  Queues   {run.urls.api}/queues     (an overview of everything: {run.urls.api}/)
  AWS      {run.urls.aws}     aws --endpoint-url {run.urls.aws} sqs get-queue-url --queue-name RelayFailures
  Outage   curl {run.urls.api}/_control/mail/outage -d '{{"seconds": 20}}'   (DELETE ends it; cards, sms, ...)

A token for {CALLER}, valid for a day:
  TOKEN={token}
{_first_request(run.urls.api)}
Be told instead of asking:
  curl -i {run.urls.api}/webhooks -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: hook-1" \\
    -H "Content-Type: application/json" -d '{{"url": "{run.urls.webhooks}/ada"}}'
"""


def troubles(functions: Iterable[Function]) -> list[str]:
    """What keeps functions from running, a line each, with all that it hits."""
    names: dict[str, list[str]] = {}
    for function in functions:
        names.setdefault(function.settings.handler, []).append(function.name)
    found = ((handler, import_trouble(handler)) for handler in names)
    return [
        f"\n✗ {handler} cannot be imported: {trouble}. Without it: {', '.join(names[handler])}\n"
        for handler, trouble in found
        if trouble
    ]


def _first_request(api: str) -> str:
    if not REQUEST.is_file():
        return ""
    request = json.loads(REQUEST.read_text(encoding="utf-8"))
    return f"""
{request["what"]}, then follow it:
  curl -i {api}{request["path"]} -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: request-1" \\
    -H "Content-Type: application/json" -d '{json.dumps(request["body"])}'
  curl -H "Authorization: Bearer $TOKEN" {api}/jobs/...      (the path in the answer's Location)
"""


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
