"""Counters of a stage: its inputs, and how many it kept and dropped."""

from collections import Counter

from sentence_distillery.io.unavailable import Unavailable


class Counters:
    """Counts of a stage: total = kept + dropped, by reason."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.kept = 0
        self.skipped = ""
        self.dropped: Counter[str] = Counter()
        self.details: dict[str, int | float | str] = {}
        self.costs: dict[str, float] = {}  # differ from run to run, and are in no output

    def keep(self, count: int = 1) -> None:
        self.kept += count

    def drop(self, reason: str, count: int = 1) -> None:
        self.dropped[reason] += count

    def skip(self, unavailable: Unavailable | None) -> None:
        """Say why the stage makes nothing in this run, if there is a reason."""
        self.skipped = unavailable.reason if unavailable else ""

    def text(self) -> str:
        """Return all counts, in one line for a person."""
        if self.skipped:
            return f"skipped: {self.skipped}"
        reasons = self.reasons()
        return f"{self.kept:,} {self.unit}" + f"; dropped {reasons}" * bool(reasons)

    def reasons(self) -> str:
        """List why something was dropped, the most frequent reason first: "1,200 duplicate, 3 empty"."""
        reasons = sorted(((count, reason) for reason, count in self.dropped.items() if count), reverse=True)
        return ", ".join(f"{count:,} {reason}" for count, reason in reasons)

    def summary(self) -> dict[str, object]:
        return {
            "unit": self.unit,
            "total": self.kept + self.dropped.total(),
            "kept": self.kept,
            "dropped": dict(sorted(self.dropped.items())),
            "details": self.details,
        }
