"""Counters: what went in, and what became of it."""

from collections import Counter


class Counters:
    """What went into a stage and what became of it: total = kept + dropped, by reason."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.kept = 0
        self.dropped: Counter[str] = Counter()
        self.details: dict[str, int | float | str] = {}

    def keep(self, count: int = 1) -> None:
        self.kept += count

    def drop(self, reason: str, count: int = 1) -> None:
        self.dropped[reason] += count

    def summary(self) -> dict[str, object]:
        return {
            "unit": self.unit,
            "total": self.kept + self.dropped.total(),
            "kept": self.kept,
            "dropped": dict(sorted(self.dropped.items())),
            "details": self.details,
        }
