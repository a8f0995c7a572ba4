"""measurements/encoding.py: rates by hand, of works that took turns."""

import pytest

from measurements.encoding import report
from sentence_distillery.runtime.stopwatch import Timing


def test_rates_by_hand() -> None:
    timings = {"own": Timing((2.0, 1.0, 4.0, 3.0)), "peer": Timing((4.0, 4.0, 4.0, 4.0))}
    found = report(timings, {"own": 100, "peer": 10})
    assert found["own"] == {
        "median": 40.0,
        "slowest": 25.0,
        "fastest": 100.0,
        "own_is_times_as_fast": 1.0,
        "ratio_of_medians": 1.0,
    }
    assert found["peer"]["own_is_times_as_fast"] == pytest.approx((2 + 4 / 3) / 2 * 10, abs=0.01)
    assert found["peer"]["ratio_of_medians"] == pytest.approx(4 / 2.5 * 10)
