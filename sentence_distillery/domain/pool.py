"""The student's figures on a fixed pool of held-out texts, for the gate of a retraining.

    metrics.json    {"student/held_out/recall_at_10": 0.41, ...}
    draws.json      the same figure in each of 1,000 draws of the texts, the same draws for every version
    pool.json       what it was measured on: texts and teacher; figures on others are not compared

So the old figure stands beside the new one on the same texts, and the interval of their difference is a paired one.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.results import Measure
from sentence_distillery.evaluation.scoring import DIGITS, DRAWS, rounded
from sentence_distillery.io.artifacts import atomic_directory, write_json

NAME = "held_out"  # of the pool among the benchmarks
METRICS, DRAWN, POOL = "metrics.json", "draws.json", "pool.json"


def write_pool_figures(
    directory: Path, system: str, measures: Iterable[Measure], texts: Sequence[str], teacher: dict[str, Any]
) -> None:
    """Write the three files of a student's figures on a fixed pool of texts, empty without a pool.

    `teacher` is what teacher.json says of it; the directory is replaced.
    """
    values, drawn = {}, {}
    for each in measures if texts else ():
        if each.drawn is not None and isinstance(each.value, float):
            name = f"{system}/{NAME}/{_name(each)}"
            values[name], drawn[name] = round(each.value, DIGITS), rounded(each.drawn[:DRAWS])

    # Hashes say whether two versions were measured on the same texts by the same teacher.
    contents = {"texts": "\0".join(texts), "teacher": json.dumps(teacher, sort_keys=True)}
    hashes = {name: hashlib.sha256(content.encode()).hexdigest() for name, content in contents.items()}
    about = {"sha256": hashes, "rows": {"test": len(texts)}}
    with atomic_directory(directory) as partial:
        write_json(partial / METRICS, values)
        write_json(partial / DRAWN, drawn)
        write_json(partial / POOL, {"sets": {NAME: about} if texts else {}})


def _name(measure: Measure) -> str:
    """Return a figure's name for the gate.

    >>> _name(Measure("near pairs", "spearman", 0.7, 9)), _name(Measure("neighbours", "recall_at_10", 0.4, 9))
    ('near_pairs', 'recall_at_10')
    """
    return measure.metric if measure.protocol == "neighbours" else measure.protocol.replace(" ", "_")
