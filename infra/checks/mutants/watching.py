"""Each house rule on watching, broken."""

from infra.checks.mutants.changes import Mutant, Resources, put, unset

DEAD, LATE = "LoyaltyDeadLettersAlarm", "LoyaltyLateAlarm"


def of_one_subscriber_less(resources: Resources) -> None:
    body = resources["Dashboard"]["Properties"]["DashboardBody"]
    lines = body["Fn::Sub"].splitlines(keepends=True)
    body["Fn::Sub"] = "".join(line for line in lines if "${LoyaltyDeadLetterQueue.QueueName}" not in line)


WEAKENINGS = [
    (
        "age-of-first-receives-only",
        "work_queue_has_an_alarm_on_age",
        put(LATE, "Metrics", 2, "MetricStat", "Metric", "Dimensions", 0, "Value", "warehouse"),
    ),
    (
        "age-of-another-queue",
        "work_queue_has_an_alarm_on_age",
        put(
            LATE,
            *("Metrics", 1, "MetricStat", "Metric", "Dimensions", 0, "Value"),
            {"Fn::GetAtt": ["WarehouseQueue", "QueueName"]},
        ),
    ),
    (
        "schedule-that-fails-unheard",
        "scheduled_function_has_an_alarm",
        put("WatchIdleAlarm", "Metrics", 2, "MetricStat", "Metric", "MetricName", "Throttles"),
    ),
    (
        "unstarted-and-gone",
        "schedule_has_a_dead_letter_queue",
        unset("SweepFunctionEveryMinute", "Target", "DeadLetterConfig"),
    ),
    ("alarm-without-a-word", "alarm_leads_to_its_page", unset(DEAD, "AlarmDescription")),
    (
        "alarm-to-a-page-that-is-not-there",
        "alarm_leads_to_its_page",
        put(DEAD, "AlarmDescription", "Something is wrong. Runbook: docs/runbook.md#somewhere"),
    ),
    ("dashboard-of-one-subscriber-less", "dashboard_shows_everything", of_one_subscriber_less),
]

MUTANTS = [Mutant(*each) for each in WEAKENINGS]
