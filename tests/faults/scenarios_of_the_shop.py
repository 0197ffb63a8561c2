"""The rest of the shop: lines, campaigns, customers, time, webhooks."""

from dataclasses import replace

from tests.faults import redriver
from tests.faults.account_stories import (
    behind_a_dead_letter,
    early,
    one_account,
    passed_over,
    redriven,
    two_accounts,
)
from tests.faults.invariants import Expected
from tests.faults.scenario import (
    DEAD_OR_DONE,
    DONE_OR_CANCELLED,
    TOO_LATE,
    Scenario,
    Script,
    bad_day,
    consumer,
    dead_may_be,
    few_receives,
)
from tests.faults.shop_stories import blast, blast_stopped, hello, reset_and_use, shipped, two_sign_up
from tests.faults.stories import once_refused, once_without_mail
from tests.faults.time_stories import (
    ROLLUP,
    listed_and_cancelled,
    logged_in,
    reminded,
    three_nights,
    too_late,
)
from tests.faults.webhook_stories import heard, heard_at_last, managed
from tests.faults.world import MINUTELY, Setting

DUE = MINUTELY | {"WebhooksDueFunction"}


def desk(name: str, function: str, subscribers: tuple[str, ...], script: Script) -> Scenario:
    """A route's function: whoever asks presses again."""
    return Scenario(name, Setting(subscribers), frozenset({f"{function}Function"}), script)


def ordered(name: str, script: Script, by: str = "Statement", **more: object) -> Scenario:
    setting = Setting(("statement",), change_template=few_receives)
    disturbs = frozenset({by if by == redriver.OPERATOR else f"{by}Function"})
    return Scenario(name, setting, disturbs, script, **more)  # type: ignore[arg-type]


def hooked(name: str, function: str, script: Script, subscriber: str = "counting") -> Scenario:
    setting = Setting((subscriber, "webhooks"), schedules=DUE)
    return Scenario(name, setting, frozenset({f"{function}Function"}), script)


BLAST = ("campaigns", "campaign-mails")
REMINDERS = ("reminder-timer", "reminders")
PASSED_OVER = Expected({"statement": DEAD_OR_DONE})
STOPPED = Expected(dict.fromkeys(BLAST, DONE_OR_CANCELLED))

OF_THE_SHOP = (
    desk("wallet", "Wallet", ("statement",), one_account),
    ordered("statement", two_accounts, crosses=True),
    ordered("statement, early", early),
    ordered("statement, behind a dead letter", behind_a_dead_letter(redriven)),
    ordered("statement, passed over", behind_a_dead_letter(passed_over), expected=PASSED_OVER),
    ordered(
        "passed over by command", behind_a_dead_letter(passed_over), redriver.OPERATOR, expected=PASSED_OVER
    ),
    desk("campaign", "StartCampaign", BLAST, blast),
    desk("campaign, in steps", "Campaigns", BLAST, once_refused("dynamodb", "TransactWriteItems", blast)),
    desk("campaign, its mails", "CampaignMails", BLAST, once_without_mail(blast)),
    replace(desk("campaign, stopped", "Jobs", BLAST, blast_stopped), expected=STOPPED),
    desk("sign up", "Signup", ("welcome",), two_sign_up),
    consumer("welcome", once_without_mail(two_sign_up)),
    desk("reset", "PasswordResets", ("password-reset",), reset_and_use),
    consumer("password-reset", once_without_mail(reset_and_use)),
    desk("ship", "Shipping", ("shipping-sms",), shipped),
    consumer("shipping-sms", once_refused("sns", "Publish", shipped)),
    desk("online", "Online", ("counting",), hello),
    desk("remind", "SetReminders", REMINDERS, listed_and_cancelled),
    desk(
        "reminders, their timers",
        "ReminderTimer",
        REMINDERS,
        once_refused("scheduler", "CreateSchedule", reminded),
    ),
    desk("reminders", "Reminders", REMINDERS, once_without_mail(reminded)),
    desk("login", "AskForLoginCodes", ("login-codes",), logged_in),
    consumer("login-codes", logged_in),
    consumer("login-codes", too_late, "login codes, too late", expected=dead_may_be("login-codes", TOO_LATE)),
    consumer("sales"),
    bad_day("sales", "dynamodb", "PutItem"),
    Scenario("roll-up", Setting(("sales",)), frozenset({ROLLUP}), three_nights, samples=10),
    hooked("webhooks, registered", "WebhooksApi", managed),
    hooked("webhooks, of ends", "WebhooksOutcomes", heard),
    hooked("webhooks, of markers", "WebhooksOutcomes", heard, "warehouse"),
    hooked("webhooks", "Webhooks", heard),
    hooked("webhooks, of a receiver that is down", "Webhooks", heard_at_last),
    hooked("webhooks, due", "WebhooksDue", heard_at_last),
)
