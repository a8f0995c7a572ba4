"""The figures that a reader looks for first: each system's Spearman under its own mean, and its speed.

The sets are STS-B test and SICK test if anything was scored on them, and Lee-50 otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sentence_distillery.evaluation.results import Result, is_speed
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.intervals import spearman_interval
from sentence_distillery.reporting.tables import title, unique

HEADLINE = (("stsb", "test"), ("sick", "test"))
FALLBACK = (("lee", "test"),)
STUDENT, TEACHER = "student", "teacher"

Found = tuple[float, float, float, int]  # a figure, the ends of its interval, and the number of texts
Ends = tuple[float, float]  # of a 95 % interval
Draws = Mapping[str, Sequence[float | None]]  # by figure; None for a draw without it


@dataclass(frozen=True)
class Headline:
    """The headline figures: display names of sets, {system: Spearman x 100 or None, for each set}, {system: rate}."""

    sets: list[str]
    quality: dict[str, list[float | None]]
    speed: dict[str, float]
    fallback: bool = False  # whether the sets are those of FALLBACK
    intervals: Mapping[str, Sequence[Ends | None]] = field(default_factory=dict)  # of each system on each set, x 100

    @property
    def systems(self) -> list[str]:
        return unique([*self.quality, *self.speed])

    def scores(self, system: str) -> list[float | None]:
        return self.quality.get(system) or [None] * len(self.sets)

    def interval(self, system: str, place: int) -> Ends | None:
        """Return the interval of a system's figure on the set at `place`, None without a figure."""
        known = self.intervals.get(system)
        return known[place] if known else None

    def shares(self, system: str) -> list[float | None]:
        """Return the share of its teacher's quality for each set; None unless both are above 0."""
        pairs = zip(self.scores(system), self.scores(TEACHER), strict=True)
        return [own / teacher if own and teacher and min(own, teacher) > 0 else None for own, teacher in pairs]

    def times(self, system: str) -> float | None:
        """Divide a system's speed by its teacher's."""
        known = system in self.speed and TEACHER in self.speed
        return self.speed[system] / self.speed[TEACHER] if known else None


def headline(rows: Sequence[Result], sets: Mapping[str, Any], draws: Draws | None = None) -> Headline:
    """Pick the headline figures from those of results.csv.

    `sets` is the content of provenance.json, `draws` that of draws.json, from which the student's intervals come; those
    of the other systems come from the number of pairs.
    """
    by_set: dict[tuple[str, str], dict[str, Result]] = {}
    speed = {}
    for row in rows:
        if row.number is not None and (row.protocol, row.metric) == ("mean", "spearman"):
            by_set.setdefault((row.dataset, row.split), {})[row.system] = row
        elif row.number and is_speed(row):
            speed[row.system] = row.number

    # The sets that others publish; a run without them falls back on the small ones that come with it.
    known = [place for place in HEADLINE if place in by_set]
    places = known or [place for place in FALLBACK if place in by_set]
    found = {
        system: [by_set[place].get(system) for place in places]
        for system in unique(system for place in places for system in by_set[place])
    }
    quality = {
        system: [None if row is None or row.number is None else row.number * 100 for row in each]
        for system, each in found.items()
    }
    intervals = {system: [_interval(row, draws or {}) for row in each] for system, each in found.items()}
    return Headline([title(*place, sets) for place in places], quality, speed, not known, intervals)


def _interval(row: Result | None, draws: Draws) -> Ends | None:
    """Return the interval of a figure x 100, from its draws if the run has them, otherwise from the number of pairs."""
    if row is None or row.number is None:
        return None
    drawn = draws.get(f"{row.system}/{row.dataset}/{row.metric}", [])
    known = [value for value in drawn if value is not None]
    if known and 2 * len(known) >= len(drawn):
        low, high = np.percentile(known, (2.5, 97.5))
        return 100 * float(low), 100 * float(high)
    ends = spearman_interval(row.number, row.n)
    return None if ends is None else (100 * ends[0], 100 * ends[1])


def sentence(figures: Headline) -> str:
    """Compare the student with its teacher in a sentence, as far as there are figures of both.

    A share of the teacher's correlation is given up to 100 %. Beyond, the sentence has both correlations and the
    student's interval, since most such differences are smaller than it.
    """
    shares, times = figures.shares(STUDENT), figures.times(STUDENT)
    kept = [(share, name) for share, name in zip(shares, figures.sets, strict=True) if share is not None and share <= 1]
    parts = []
    if kept:
        (first, name), *others = kept
        also = "".join(f" and {share:.0%} on {other}" for share, other in others)
        parts.append(f"keeps {first:.0%} of its teacher’s Spearman correlation on {name}{also}")

    # A share above 100 % says little, so both figures stand there.
    parts += [_both(figures, place) for place, share in enumerate(shares) if share is not None and share > 1]
    known = len(parts)
    if times is not None:
        parts.append(f"encodes {rounded(times)} times as many sentences a second{'' if known else ' as its teacher'}")
    if not parts:
        return "This run has no figure for both the student and its teacher."
    last = (", and " if len(kept) > 1 or known > 1 else " and ").join(parts[-2:])
    return f"The student {', '.join([*parts[:-2], last])}."


def _both(figures: Headline, place: int) -> str:
    """Give both correlations on a set on which the student's is the higher one."""
    own, teacher = figures.scores(STUDENT)[place], figures.scores(TEACHER)[place]
    interval = figures.interval(STUDENT, place)
    ends = f" (95% interval {interval[0]:.1f} to {interval[1]:.1f})" if interval else ""
    return f"has a Spearman correlation of {own:.2f}{ends} on {figures.sets[place]}, its teacher of {teacher:.2f}"


def opening(figures: Headline, found: Found | None) -> str:
    """Return the first sentence of the page: on held-out texts, unless STS-B or SICK was scored.

    `found` is the student's recall@10 on held-out texts with its interval, in [0, 1]. Lee-50 is too small, and too far
    from most texts, to begin with.
    """
    if found is None or not figures.fallback:
        return sentence(figures)
    value, low, high, count = found
    times = figures.times(STUDENT)
    speed = "" if times is None else f" and encodes {rounded(times)} times as many sentences a second"
    share = f"{value:.0%} (95% interval {low:.0%} to {high:.0%})"
    return f"On {count:,} held-out texts, the student finds {share} of its teacher’s ten nearest texts{speed}."


def panels(figures: Headline) -> list[charts.Scatter]:
    """Draw a chart for each set with a system whose quality and speed are both known."""
    points = [
        {
            system: (figures.speed[system], score)
            for system in figures.quality
            if (score := figures.scores(system)[place]) is not None and system in figures.speed
        }
        for place in range(len(figures.sets))
    ]
    return [charts.scatter(name, systems) for name, systems in zip(figures.sets, points, strict=True) if systems]


def rounded(value: float) -> str:
    """Show two significant digits: 1697 is 1,700 and 0.714 is 0.71."""
    return f"{float(f'{value:.2g}'):,.12g}"
