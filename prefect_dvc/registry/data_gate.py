"""Decide whether a new edition of the corpus may be trained on: compared with that of the promoted model.

    "rows": "30%"          at most this share fewer kept sentences: a site with another layout yields little
    "dropped": 0.1         the share of dropped sentences rises by at most this much
    "language": 0.05       the share of documents in another language rises by at most this much
    "vocabulary": "20%"    the number of distinct words, among as many words of both, differs by at most this share

The check comes before any training, so a bad edition costs no GPU time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prefect_dvc.errors import SettingsError
from prefect_dvc.registry.comparison import ToleranceError, allowed_loss
from prefect_dvc.settings.flows_yaml import FILE, EditionFiles, Tolerance

GATES = ("rows", "dropped", "language", "vocabulary")


@dataclass(frozen=True)
class Edition:
    """The counts of the cleaner."""

    kept: int  # sentences
    total: int
    documents: int
    foreign: int  # documents in another language
    growth: tuple[tuple[int, int], ...] = ((0, 0),)  # words, and how many distinct ones there are among them


def read_edition(files: EditionFiles, counters: str, overview: str | None) -> Edition:
    """Read an edition from the texts of both files; without an overview its vocabulary counts as empty.

    Raises SettingsError if they have another form.
    """
    try:
        counted, growth = json.loads(counters), json.loads(overview)["growth"] if overview else [(0, 0)]
        details = counted["details"]
        return Edition(
            kept=counted["kept"],
            total=counted["total"],
            documents=sum(count for name, count in details.items() if name.startswith(files.documents)),
            foreign=details.get(files.foreign, 0),
            growth=tuple((words, distinct) for words, distinct in growth),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{files.counters} or {files.overview} (`edition` in {FILE}) lacks counts that the data gate compares, or "
            f"has them in another form: {type(error).__name__} {error}. It needs total, kept and details; growth."
        ) from error


def check_limits(limits: Mapping[str, Tolerance]) -> None:
    """Raise ToleranceError if a limit is unknown or not a share; called before a run that takes hours."""
    if unknown := sorted(set(limits) - set(GATES)):
        raise ToleranceError(f"'{unknown[0]}' is not a data gate; the gates are {', '.join(GATES)}.")
    for limit in limits.values():
        allowed_loss(limit)


def problems(promoted: Edition, new: Edition, limits: Mapping[str, Tolerance]) -> list[str]:
    """List why an edition is not to be trained on; a gate without a limit is not checked. Raises ToleranceError."""
    check_limits(limits)
    words = min(promoted.growth[-1][0], new.growth[-1][0])
    curves = [np.array(edition.growth, dtype=float).T for edition in (promoted, new)]
    before, after = (float(np.interp(words, known, distinct)) for known, distinct in curves)
    found = {
        "rows": (_less(promoted.kept, new.kept), f"{new.kept:,} kept sentences, {promoted.kept:,} before", "fewer"),
        "dropped": (
            _part(new.total - new.kept, new.total) - _part(promoted.total - promoted.kept, promoted.total),
            f"{new.total - new.kept:,} of {new.total:,} sentences are dropped",
            "more",
        ),
        "language": (
            _part(new.foreign, new.documents) - _part(promoted.foreign, promoted.documents),
            f"{new.foreign:,} of {new.documents:,} documents are in another language",
            "more",
        ),
        "vocabulary": (
            abs(_less(before, after)),
            f"{after:,.0f} distinct among the first {words:,} words, {before:,.0f} before",
            "different",
        ),
    }
    return [
        f"{name}: {text}: {100 * found_share:.0f} % {word}, {100 * allowed_loss(limits[name]):.0f} % are allowed"
        for name, (found_share, text, word) in found.items()
        if name in limits and found_share > allowed_loss(limits[name])
    ]


def _less(before: float, after: float) -> float:
    """Return by which share `after` is less."""
    return (before - after) / before if before else 0.0


def _part(some: int, all_of_them: int) -> float:
    return some / all_of_them if all_of_them else 0.0
