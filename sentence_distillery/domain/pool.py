"""The student's figures on a fixed pool of held-out texts, for the gate of a retraining.

    metrics.json    {"student/held_out/recall_at_10": 0.41, ...}
    draws.json      the same figure in each of 1,000 draws of the texts, the same draws for every version
    pool.json       what it was measured on: texts and teacher; figures on others are not compared

So the old figure stands beside the new one on the same texts, and the interval of their difference is a paired one.
Without a fixed pool there is nothing to compare, and the files are empty.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sentence_distillery.evaluation.results import Measure
from sentence_distillery.io.artifacts import atomic_directory, write_json

NAME = "held_out"  # of the pool among the benchmarks
DRAWS = 1_000
DIGITS = 5
METRICS, DRAWN, POOL = "metrics.json", "draws.json", "pool.json"


def write_pool_figures(
    directory: Path, system: str, measures: Iterable[Measure], texts: Sequence[str], teacher: dict[str, Any]
) -> None:
    """Write the three files of a student's figures on a fixed pool of texts, empty without a pool.

    `teacher` is what teacher.json says of it; the directory is replaced.
    """
    found = [each for each in measures if each.drawn is not None and isinstance(each.value, float)] if texts else []

    # Hashes say whether two versions were measured on the same texts by the same teacher.
    names = {f"{system}/{NAME}/{_name(each)}": each for each in found}
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    about = {"sha256": {"texts": digest, "teacher": _hash_of(teacher)}, "rows": {"test": len(texts)}}
    with atomic_directory(directory) as partial:
        write_json(partial / METRICS, {name: round(float(str(each.value)), DIGITS) for name, each in names.items()})
        write_json(partial / DRAWN, {name: _draws(each) for name, each in names.items()})
        write_json(partial / POOL, {"sets": {NAME: about} if texts else {}})


def _name(measure: Measure) -> str:
    """Return a figure's name for the gate.

    >>> _name(Measure("near pairs", "spearman", 0.7, 9)), _name(Measure("neighbours", "recall_at_10", 0.4, 9))
    ('near_pairs', 'recall_at_10')
    """
    return measure.metric if measure.protocol == "neighbours" else measure.protocol.replace(" ", "_")


def _draws(measure: Measure) -> list[float | None]:
    assert measure.drawn is not None
    return [round(float(value), DIGITS) if np.isfinite(value) else None for value in measure.drawn[:DRAWS]]


def _hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
