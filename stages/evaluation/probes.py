"""What an encoder does not see: word order, negation, antonyms, numbers. `python -m stages.evaluation.probes`

Each row of data/samples/probes.csv has a sentence, a paraphrase that shares few of its words, and a distractor that
shares nearly all of them and means something else. An encoder passes where

    cos(sentence, paraphrase) > cos(sentence, distractor)

A bag of words cannot: of a role swap, where both have the same words, it says cosine 1. The rows of kind `control`,
whose distractor speaks of something else, show that the paraphrases themselves are recognised. Sixty-odd sentences
written for this project say nothing of how often such pairs occur; they show which way an encoder errs.
"""

import csv
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stages.artifacts import InputError, read_json, write_json
from stages.benchmarks.similarity import cosines
from stages.evaluation.loading import load_variant
from stages.evaluation.scores import Encode
from stages.evaluation.systems import StudentSystem
from stages.params import load_params
from stages.student.encoder import CONFIG, DEEP, STUDENT, StaticEncoder
from stages.teacher.encoders import load_encoder

SOURCE = Path("data/samples/probes.csv")
PROBES = Path("reports/probes.json")
COLUMNS = ("kind", "sentence", "paraphrase", "distractor")
SAME = 1e-5  # cosines that differ by less are taken for equal, and the probe for failed


@dataclass(frozen=True)
class Probe:
    kind: str
    sentence: str
    paraphrase: str
    distractor: str


def read_probes(path: Path = SOURCE) -> list[Probe]:
    """The probes of a CSV file; raises InputError, with the line, where a field is missing or empty."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}; restore it from git.") from error
    for number, row in enumerate(rows, start=1):
        if set(row) != set(COLUMNS) or not all(row.values()):
            raise InputError(f"{path}, row {number} needs the columns {', '.join(COLUMNS)}, none of them empty.")
    if not rows:
        raise InputError(f"{path} has no probes; restore it from git.")
    return [Probe(**row) for row in rows]


def cosine_pairs(encode: Encode, probes: list[Probe]) -> list[tuple[float, float]]:
    """The cosine of each sentence with its paraphrase and with its distractor."""
    sentence, paraphrase, distractor = (
        np.asarray(encode([getattr(probe, column) for probe in probes]), dtype=np.float32) for column in COLUMNS[1:]
    )
    near, far = cosines(sentence, paraphrase), cosines(sentence, distractor)
    return list(zip(near.tolist(), far.tolist(), strict=True))


def summary(probes: list[Probe], found: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    """For each kind and for `all but control`: how many, the share passed in [0, 1], and the mean of both cosines."""
    kinds = dict.fromkeys(probe.kind for probe in probes)
    groups = {kind: [c for p, c in zip(probes, found, strict=True) if p.kind == kind] for kind in kinds}
    groups["all but control"] = [c for p, c in zip(probes, found, strict=True) if p.kind != "control"]
    return {
        kind: {
            "n": len(pairs),
            "passed": round(sum(near > far + SAME for near, far in pairs) / len(pairs), 4),
            "paraphrase": round(statistics.mean(near for near, _ in pairs), 4),
            "distractor": round(statistics.mean(far for _, far in pairs), 4),
        }
        for kind, pairs in groups.items()
        if pairs
    }


def rows(probes: list[Probe], found: Mapping[str, list[tuple[float, float]]]) -> list[dict[str, object]]:
    """Each probe with both cosines of each encoder."""
    return [
        {
            **{column: getattr(probe, column) for column in COLUMNS},
            **{name: [round(value, 4) for value in pairs[row]] for name, pairs in found.items()},
        }
        for row, probe in enumerate(probes)
    ]


def main() -> None:
    try:
        params = load_params()
        probes = read_probes()
        teacher = load_encoder(params.teacher)
        encoders: dict[str, Encode] = {
            "student": StaticEncoder.load(STUDENT).encode,
            "teacher": lambda texts: teacher.embed(teacher.token_ids(texts), params.soft_labels.batch_tokens)[0],
        }
        deep = load_variant("student, deep", DEEP)
        if isinstance(deep, StudentSystem):
            encoders[deep.name] = deep.encoder.encode
        profile = read_json(STUDENT / CONFIG).get("profile")
        found = {name: cosine_pairs(encode, probes) for name, encode in encoders.items()}
        summaries = {name: summary(probes, pairs) for name, pairs in found.items()}
        write_json(PROBES, {"profile": profile, "summary": summaries, "probes": rows(probes, found)})
    except InputError as error:
        sys.exit(f"probes: {error}")
    for name, groups in summaries.items():
        for kind, row in groups.items():
            print(
                f"{name:13} {kind:16} n {row['n']:3.0f}   passed {row['passed']:6.1%}   paraphrase "
                f"{row['paraphrase']:.3f}   distractor {row['distractor']:.3f}"
            )


if __name__ == "__main__":
    main()
