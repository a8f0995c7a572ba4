"""Names in the rows of paper 3's grid, and what the interval of a gain says."""

from sentence_distillery.evaluation.results import Result

TRAINED, UNTRAINED = "component focus", "untrained"  # strategies
GAIN = "{} gain"  # over W_cf = 0, as a metric


def verdict(gain: Result) -> str:
    """Say what the interval of a gain says."""
    assert gain.low is not None and gain.high is not None
    return "better" if gain.low > 0 else "worse" if gain.high < 0 else "no difference to be seen"
