"""A kit for testing subscribers: the same event again and again, a failure at every call, one effect."""

from infra.testkit.faults import ALONE, CRASHES, Fault, Killed
from infra.testkit.once import EffectError, assert_effect_once

__all__ = ["ALONE", "CRASHES", "EffectError", "Fault", "Killed", "assert_effect_once"]
