"""Dead letters as tables, lists and documents."""

from typing import Any

from rich.console import Console

from infra.ops.core.causes import DeadJob, Group
from infra.ops.core.queues import Queues
from infra.ops.texts import count, moment, plain, print_ledger, state, table


def show_list(console: Console, rows: list[dict[str, Any]], found: Queues) -> None:
    listed = table("subscriber", "dead letters", "waiting", "in flight", "redrive")
    for row in rows:
        task = row["redrive"]
        moving = f"{task['status']} {task['moved']}/{task['of']}" if task else ""
        dead = f"[red]{row['deadLetters']}[/red]" if row["deadLetters"] else "0"
        listed.add_row(row["subscriber"], dead, str(row["waiting"]), str(row["inFlight"]), moving)
    console.print(listed)
    for queue in found.others:
        if queue.depth:
            console.print(f"[red]{queue.name} holds {count(queue.depth, 'message')}[/red]")


def show_groups(console: Console, groups: list[Group], most: int) -> None:
    if not groups:
        console.print("no dead letters")
    for group in groups:
        where = f" at {group.cause.where}" if group.cause.where else ""
        console.print(f"\n[bold]{len(group.jobs)} × {group.cause.error}[/bold]{where}")
        console.print(f"  {group.jobs[0].message}", markup=False)
        for job in group.jobs[:most]:
            _show_job(console, job)
        if len(group.jobs) > most:
            console.print(f"  and {len(group.jobs) - most} more (--most)")


def _show_job(console: Console, job: DeadJob) -> None:
    line = table("", "", "")
    line.show_header = False
    line.add_row(f"  {name_of(job)}", state(job.state), f"sent {moment(job.letter.record.sent_at)}")
    console.print(line)
    print_ledger(console, job.row)


def group_document(group: Group) -> dict[str, Any]:
    return {
        "error": group.cause.error,
        "where": group.cause.where,
        "messages": len(group.jobs),
        "jobs": [_job_document(job) for job in group.jobs],
    }


def _job_document(job: DeadJob) -> dict[str, Any]:
    return {
        "job": job.id,
        "state": job.state,
        "message": job.message,
        "messageId": job.letter.id,
        "sentAt": moment(job.letter.record.sent_at),
        "publication": job.letter.record.publication,
        "row": plain(job.row),
    }


def show_skipped(console: Console, ids: list[str], left: list[str]) -> None:
    console.print(f"skipped: {', '.join(ids) or 'none'}", markup=False)
    if left:
        console.print(f"left, because they may still come to a result: {', '.join(left)}", markup=False)


def name_of(job: DeadJob) -> str:
    return job.id or f"message {job.letter.id}"
