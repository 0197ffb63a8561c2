"""What is replayed: each story once as it is, and then once for each fault at each call."""

from collections.abc import Mapping

from tests.faults.scenario import Scenario
from tests.faults.scenarios_of_orders import OF_ORDERS
from tests.faults.scenarios_of_the_shop import OF_THE_SHOP

SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in (*OF_ORDERS, *OF_THE_SHOP)}
