"""Noise is no promotion: the interval of the difference decides, by draws of the same items or by single intervals."""

import pytest

from prefect_dvc.registry.comparison import Figures, Row, compare, lacking_gain, of_draws, table

OLD = {"student/lee/spearman": 0.50, "student/lee/mae": 2.0}
NEW = {"student/lee/spearman": 0.51, "student/lee/mae": 1.9}
TOLERANCES = {"student/*/spearman": 0.005, "student/*/mae": 0.05}


def draws(center: float, shift: float = 0.0, count: int = 101) -> list[float]:
    """Draws from center - 0.05 to center + 0.05; with a shift every second one is that much higher."""
    return [center + 0.001 * (number - count // 2) + shift * (number % 2) for number in range(count)]


def rows(old: dict[str, list[float]], new: dict[str, list[float]]) -> list[Row]:
    return compare(Figures(OLD, None, old), Figures(NEW, None, new), TOLERANCES)


def test_of_the_same_items() -> None:
    """Each model's own interval is 0.095 wide, and that of their difference is a point: all draws gain the same."""
    assert of_draws(draws(0.50), draws(0.51)) == (0.01, 0.01)
    assert of_draws(draws(0.50), draws(0.51)[:-1]) is None
    assert of_draws([], []) is None
    assert of_draws(draws(0.5), draws(0.5, shift=0.2)) == (0.0, 0.2)


def test_a_gain_outside_the_noise() -> None:
    found = rows({"student/lee/spearman": draws(0.50)}, {"student/lee/spearman": draws(0.51)})
    assert lacking_gain(found, {"student/*": 0.005}) is None
    assert "+0.01, 95 % from +0.01 to +0.01" in table(found)


@pytest.mark.parametrize(
    ("metric", "old", "new", "told"),
    [
        (
            "spearman",
            0.50,
            0.48,
            "student/lee/spearman gains 0.01, but 0.005 are required outside the noise",
        ),
        ("mae", 2.0, 2.0, "student/lee/mae gains 0.1, but 0.005 are required outside the noise"),
    ],
)
def test_a_gain_within_the_noise(metric: str, old: float, new: float, told: str) -> None:
    """The figure gains enough, but in more than 2.5 % of the draws there is no gain; for an error, less is a gain."""
    name = f"student/lee/{metric}"
    found = rows({name: draws(old)}, {name: draws(new, shift=0.1 if metric == "spearman" else -0.1)})
    assert told in str(lacking_gain([row for row in found if row.metric == name], {"student/*": 0.005}))
