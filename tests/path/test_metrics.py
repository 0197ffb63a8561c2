"""What the functions of a whole shop measure, and what they do not tell."""

import json
from collections import defaultdict
from collections.abc import Mapping

from handlers.postroom.aws.metrics import Metric
from handlers.postroom.discovery import job_types
from handlers.postroom.errors import Permanent
from tests.path.shop import Shop

NAMES = {metric.value[0] for metric in Metric}
FIELDS = NAMES | {"_aws", "subscriber"}
AN_HOUR_SECONDS = 3_600


def refuse() -> None:
    raise Permanent("there is no such mailbox: ada@example.com")


def told(shop: Shop) -> Mapping[str, Mapping[str, list[float]]]:
    """Each metric's values, by subscriber; those of the whole stack under an empty name."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in map(json.loads, shop.metric_lines):
        for name in NAMES & line.keys():
            found[name][line.get("subscriber", "")] += line[name]
    return found


def test_each_job_that_completes_is_counted_with_its_time(shop: Shop) -> None:
    shop.checkout()
    shop.checkout("order-2")

    shop.settle()

    metrics = told(shop)
    of_an_order = {"receipts", "invoices", "loyalty", "warehouse", "sales"}
    assert {name: sum(values) for name, values in metrics["JobsCompleted"].items()} == dict.fromkeys(
        of_an_order, 2
    )
    assert metrics["JobSeconds"].keys() == of_an_order
    assert len(metrics["RelaySeconds"][""]) == 2
    assert not metrics["AttemptsFailed"]


def test_a_failed_attempt_is_counted_each_time_and_a_death_once(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.on_sending.append(refuse)
    shop.checkout()

    shop.run_for(AN_HOUR_SECONDS)

    metrics = told(shop)
    assert sum(metrics["JobsDead"]["receipts"]) == 1
    assert sum(metrics["AttemptsFailed"]["receipts"]) == 1
    assert "receipts" not in metrics["JobsCompleted"]


def test_what_an_outage_keeps_open_grows_old_in_the_figures(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail()
    shop.checkout()

    shop.run_for(AN_HOUR_SECONDS // 4)

    ages = told(shop)["OldestOpenSeconds"]
    assert ages.keys() == {"receipts"}
    assert ages["receipts"] == sorted(ages["receipts"])
    assert ages["receipts"][-1] > AN_HOUR_SECONDS // 4 - 120


def test_the_sweep_tells_how_far_the_relay_is_behind(shop: Shop) -> None:
    with shop.without("RelayFunction"):
        shop.checkout()
        shop.run_for(130)

    lags = told(shop)["OutboxLagSeconds"][""]
    assert 60 <= max(lags) <= 120
    assert lags.count(0.0) == len(lags) - 1


def test_a_relay_that_cannot_publish_says_that_it_went_back(shop: Shop) -> None:
    shop.expects("relay.publish_failed")
    shop.checkout()

    with shop.broker_out_of_reach():
        shop.poll("RelayFunction")

    assert sum(told(shop)["RelayRewinds"][""]) == 1
    assert "RelaySeconds" not in told(shop)


def test_an_event_that_no_topic_takes_is_told_until_somebody_looks(shop: Shop) -> None:
    shop.expects("relay.row_refused")
    shop.save_item(
        {"pk": "order-9", "sk": "entity", "event": "{", "unpublished": "0", "bornAt": int(shop.opened * 1000)}
    )

    shop.run_for(300)

    ages = told(shop)["OutboxRefusedSeconds"][""]
    assert ages[-1] > ages[-2] > 0


def test_metrics_name_subscribers_and_nobody_else(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.on_sending.append(refuse)
    shop.checkout(caller="ada-subject")
    shop.checkout("order-2", caller="bola-subject", email="bola@example.com")

    shop.run_for(AN_HOUR_SECONDS)

    assert shop.metric_lines
    for line in map(json.loads, shop.metric_lines):
        assert line.keys() <= FIELDS
        assert line.get("subscriber", "receipts") in {each.subscriber for each in job_types("handlers")}
        assert all(isinstance(value, float) for name in NAMES & line.keys() for value in line[name])


def test_metrics_ride_on_logs_and_write_nothing(shop: Shop) -> None:
    with shop.aws.metered() as calls:
        shop.checkout()
        shop.settle()

    assert shop.metric_lines
    assert not [call for call in calls if call.operation in ("PutMetricData", "PutLogEvents")]
