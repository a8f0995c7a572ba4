"""Judge the claims of a paper: a verdict follows from comparisons of figures, in which a loss counts like a win.

    reproduced      every comparison agrees with the paper
    partly          more agree than disagree, or all of those agree that can be made here
    not reproduced  as many or more disagree; against a superlative one is enough
    undecided       every comparison is open
    not tested      no comparison can be made, and the row says why

A comparison agrees with the paper if its interval lies above 0, disagrees if it lies below, and is open otherwise.
Without an interval its sign decides, and the row says why there is none. For a claim that two things are alike, a
comparison is the room that is left: the tolerance less the difference.

Example:
    >>> won, lost = Comparison("GloVe", 0.03, 0.01, 0.05), Comparison("BERT", -0.02, -0.04, -0.01)
    >>> judged([won, lost]).verdict, judged([won, won, lost]).verdict, judged([won, lost], superlative=True).verdict
    ('not reproduced', 'partly', 'not reproduced')
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

REPRODUCED, PARTLY, NOT, UNTESTED = "reproduced", "partly", "not reproduced", "not tested"
UNDECIDED = "undecided"
LISTED = 6  # comparisons that a row shows one by one; the others are counted
PAIRED = "95 %, 2,000 paired draws of the test pairs"

Figures = TypeVar("Figures")


@dataclass(frozen=True)
class Comparison:
    """A comparison that a claim is about.

    Attributes:
        name: What is compared, such as "GloVe, Pearson".
        gain: The difference in the paper's direction; negative if it disagrees.
        low: The lower end of the gain's 95 % interval, if it has one.
        high: The upper end.
        scale: Of the gain when it is shown, 100 for fractions.
        text: What stands in the row instead of gain and interval.
    """

    name: str
    gain: float
    low: float | None = None
    high: float | None = None
    scale: float = 100.0
    text: str = ""

    @property
    def outcome(self) -> int:
        """Return 1 if it agrees with the paper, -1 if it disagrees, 0 if it is open."""
        low, high = (self.gain if end is None else end for end in (self.low, self.high))
        return (low > 0) - (high < 0)

    def shown(self) -> str:
        """Return the comparison as a row shows it.

        Example:
            >>> Comparison("GloVe", 0.03, 0.01, 0.05).shown(), Comparison("BERT", -0.02).shown()
            ('GloVe +3.00 [1.00, 5.00]', 'BERT −2.00')
        """
        if self.text:
            return f"{self.name} {self.text}"
        ends = (
            "" if self.low is None or self.high is None else f" [{self._number(self.low)}, {self._number(self.high)}]"
        )
        return f"{self.name} {self._number(self.gain, '+')}{ends}"

    def _number(self, value: float, sign: str = "") -> str:
        return f"{self.scale * value:{sign}.2f}".replace("-", "−")


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, the figures behind it, and where its intervals come from or why it has none."""

    verdict: str
    evidence: str
    basis: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim, its place in the paper, the finding, and the stand-ins that the finding rests on."""

    text: str
    place: str
    finding: Finding
    rests_on: str = ""

    @property
    def verdict(self) -> str:
        """The verdict."""
        return self.finding.verdict

    @property
    def evidence(self) -> str:
        """The figures behind the verdict."""
        return self.finding.evidence


Statement = tuple[str, str, Callable[[Figures], Finding]]  # a claim, its place, and the function that tests it


def judged(
    comparisons: Sequence[Comparison],
    *,
    superlative: bool = False,
    missing: Sequence[str] = (),
    basis: str = PAIRED,
    otherwise: str = "no figures for it here",
) -> Finding:
    """Judge a claim.

    Args:
        comparisons: Those that can be made.
        superlative: Whether one comparison that disagrees refutes the claim.
        missing: What the claim is also about and cannot be compared here, each with its reason; then it is partly
            reproduced at most.
        basis: Where intervals come from, or why there are none.
        otherwise: The reason if there are no comparisons.

    Returns:
        The finding; its evidence lists up to LISTED comparisons, those that disagree first.
    """
    lacking = f"not compared: {'; '.join(missing)}" if missing else ""
    if not comparisons:
        return Finding(UNTESTED, lacking or otherwise)
    outcomes = [comparison.outcome for comparison in comparisons]
    won, lost = outcomes.count(1), outcomes.count(-1)
    if won == lost == 0:
        verdict = UNDECIDED
    elif won == len(outcomes) and not missing:
        verdict = REPRODUCED
    else:
        verdict = PARTLY if won > lost and not (superlative and lost) else NOT
    count = f"{won} of {len(outcomes)} agree with the paper, {lost} disagree"
    listed = sorted(comparisons, key=lambda comparison: comparison.outcome)
    shown = ", ".join(comparison.shown() for comparison in listed[:LISTED])
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return Finding(verdict, "; ".join(part for part in (count, shown + more, lacking) if part), basis)


def untested(reason: str) -> Callable[[object], Finding]:
    """Return the test of a claim that cannot be run."""
    return lambda figures: Finding(UNTESTED, reason)


def lowered(finding: Finding, reason: str) -> Finding:
    """Lower a verdict to partly, since something else than the paper's was measured."""
    verdict = PARTLY if finding.verdict == REPRODUCED else finding.verdict
    return Finding(verdict, f"{reason}: {finding.evidence}", finding.basis)


def judge(statements: Sequence[Statement[Figures]], figures: Figures, rests_on: str = "") -> list[Claim]:
    """Judge every claim of a paper; `rests_on` names the stand-ins of all that were tested."""
    found = [(text, place, check(figures)) for text, place, check in statements]
    return [
        Claim(text, place, finding, "" if finding.verdict == UNTESTED else rests_on) for text, place, finding in found
    ]
