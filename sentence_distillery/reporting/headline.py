"""The figures that a reader looks for first: each system's Spearman under its own mean, and its speed.

The sets are STS-B test and SICK test if anything was scored on them, and Lee-50 otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentence_distillery.evaluation.results import Result, is_speed
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.tables import title, unique

HEADLINE = (("stsb", "test"), ("sick", "test"))
FALLBACK = (("lee", "test"),)
STUDENT, TEACHER = "student", "teacher"


@dataclass(frozen=True)
class Headline:
    """The headline figures: display names of sets, {system: Spearman x 100 or None, for each set}, {system: rate}."""

    sets: list[str]
    quality: dict[str, list[float | None]]
    speed: dict[str, float]
    fallback: bool = False  # whether the sets are those of FALLBACK

    @property
    def systems(self) -> list[str]:
        return unique([*self.quality, *self.speed])

    def scores(self, system: str) -> list[float | None]:
        return self.quality.get(system) or [None] * len(self.sets)

    def shares(self, system: str) -> list[float | None]:
        """Return the share of its teacher's quality for each set; None unless both are above 0."""
        pairs = zip(self.scores(system), self.scores(TEACHER), strict=True)
        return [own / teacher if own and teacher and min(own, teacher) > 0 else None for own, teacher in pairs]

    def times(self, system: str) -> float | None:
        """Divide a system's speed by its teacher's."""
        known = system in self.speed and TEACHER in self.speed
        return self.speed[system] / self.speed[TEACHER] if known else None


def headline(rows: Sequence[Result], sets: Mapping[str, Any]) -> Headline:
    """Pick the headline figures from results.csv; `sets` is the content of provenance.json on each set."""
    by_set: dict[tuple[str, str], dict[str, float]] = {}
    speed = {}
    for row in rows:
        value = row.number
        if value is not None and (row.protocol, row.metric) == ("mean", "spearman"):
            by_set.setdefault((row.dataset, row.split), {})[row.system] = value * 100
        elif value and is_speed(row):
            speed[row.system] = value
    known = [place for place in HEADLINE if place in by_set]
    places = known or [place for place in FALLBACK if place in by_set]
    systems = unique(system for place in places for system in by_set[place])
    quality = {system: [by_set[place].get(system) for place in places] for system in systems}
    return Headline([title(*place, sets) for place in places], quality, speed, not known)


def sentence(figures: Headline) -> str:
    """Compare the student with its teacher in a sentence, as far as there are figures of both."""
    named = zip(figures.shares(STUDENT), figures.sets, strict=True)
    shares = [(share, name) for share, name in named if share is not None]
    times = figures.times(STUDENT)
    parts = []
    if shares:
        verb = "keeps" if max(shares)[0] <= 1 else "reaches"
        first, *others = [(f"{share:.0%}", f"on {name}") for share, name in shares]
        listed = [f"{first[0]} of its teacher’s Spearman correlation {first[1]}", *map(" ".join, others)]
        parts.append(f"{verb} {' and '.join(listed)}")
    if times is not None:
        ending = "" if shares else " as its teacher"
        parts.append(f"encodes {rounded(times)} times as many sentences a second{ending}")
    joined = (", and " if len(shares) > 1 else " and ").join(parts)
    return f"The student {joined}." if parts else "This run has no figure for both the student and its teacher."


def opening(figures: Headline, found: float | None) -> str:
    """Return the first sentence of the page: on held-out texts, unless STS-B or SICK was scored.

    `found` is the student's recall@10 on held-out texts, in [0, 1]. Lee-50 is too small, and too far from most texts,
    to begin with.
    """
    if found is None or not figures.fallback:
        return sentence(figures)
    times = figures.times(STUDENT)
    speed = "" if times is None else f" and encodes {rounded(times)} times as many sentences a second"
    return f"On texts that it was not trained on, the student finds {found:.0%} of its teacher’s ten nearest{speed}."


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
