"""Names in the rows of paper 3's grid, and verdicts on the interval of a gain."""

from reproductions.paper3.component_focus.options import PoolingOrder
from sentence_distillery.evaluation.results import Result

TRAINED, UNTRAINED, CROSSED = "component focus", "untrained", "cross-encoder"  # strategies
RATINGS = "component focus"  # a protocol: the cosine of two sentences with their components
GAIN = "{} gain"  # over W_cf = 0, as a metric
BEFORE, AFTER = "before pooling", "after pooling"  # how a sentence and its component are added, last in a protocol
ORDERS: dict[PoolingOrder, str] = {"before_pooling": BEFORE, "after_pooling": AFTER}

DIRECT = "without prepositional objects"  # in a protocol, before that: components as in the parse of table 3


def verdict(gain: Result) -> str:
    """Return the verdict on the interval of a gain."""
    assert gain.low is not None and gain.high is not None
    return "better" if gain.low > 0 else "worse" if gain.high < 0 else "no difference to be seen"


def order_of(row: Result) -> str:
    """Return how a sentence and its component were added."""
    return AFTER if row.protocol.endswith(AFTER) else BEFORE


def differences(row: Result) -> list[str]:
    """Name what differs from the paper's section 3.2.1 and table 2: the components, or the order."""
    return [DIRECT] * (DIRECT in row.protocol) + [AFTER] * (order_of(row) == AFTER)


def series_name(encoder: str, pooling: str) -> str:
    """Name an encoder, with its pooling if that is not the paper's default."""
    return encoder if pooling in ("", "mean") else f"{encoder} {pooling.upper()}"
