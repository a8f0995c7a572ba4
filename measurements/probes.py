"""Test whether encoders notice word order, negation, antonyms and numbers: `python -m measurements.probes`.

Each probe of data/samples/probes.csv has a sentence, a paraphrase that shares few of its words, and a distractor that
shares nearly all of them and means something else. An encoder passes if

    cos(sentence, paraphrase) > cos(sentence, distractor)

A bag of words cannot: for a role swap, in which both have the same words, its cosine is 1. The rows of kind `control`,
whose distractor has another topic, show that the paraphrases themselves are recognised. Sixty-odd sentences written for
this project cannot show how often such pairs occur; they show the direction of an encoder's errors.

Scores the student, its teacher and the student with an MLP head, and writes reports/probes.json.
"""

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from measurements.command import refusals
from reproductions.systems.registration import load_variant
from reproductions.systems.similarity import Encode
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.io.artifacts import InputError, read_json, read_rows, write_json
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.teachers.transformer import load_encoder
from stages import paths
from stages.params import load_params

COLUMNS = ("kind", "sentence", "paraphrase", "distractor")
SAME = 1e-5  # cosines that differ by less count as equal, and the probe as failed


@dataclass(frozen=True)
class Probe:
    kind: str
    sentence: str
    paraphrase: str
    distractor: str


def read_probes(path: Path) -> list[Probe]:
    """Read the probes of a CSV file; raises InputError if it has none, or a field is missing or empty."""
    rows = read_rows(path, {})
    for number, row in enumerate(rows, start=1):
        if set(row) != set(COLUMNS) or not all(row.values()):
            raise InputError(f"{path}, row {number} needs the columns {', '.join(COLUMNS)}, none of them empty.")
    if not rows:
        raise InputError(f"{path} has no probes; give it a row for each.")
    return [Probe(**row) for row in rows]


def cosine_pairs(encode: Encode, probes: list[Probe]) -> list[tuple[float, float]]:
    """Return the cosine of each sentence with its paraphrase and with its distractor; raises InputError for NaN."""
    sentence, paraphrase, distractor = (
        np.asarray(encode([getattr(probe, column) for probe in probes]), dtype=np.float32) for column in COLUMNS[1:]
    )
    near, far = cosines(sentence, paraphrase), cosines(sentence, distractor)
    if not (np.isfinite(near).all() and np.isfinite(far).all()):
        raise InputError("the encoder gives vectors that are not finite; train it again, or use another one.")
    return list(zip(near.tolist(), far.tolist(), strict=True))


def summary(probes: list[Probe], values: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    """Count the probes of each kind and of `all but control`: n, share passed in [0, 1], mean of both cosines."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for probe, pair in zip(probes, values, strict=True):
        groups.setdefault(probe.kind, []).append(pair)
    if others := [pair for kind, pairs in groups.items() if kind != "control" for pair in pairs]:
        groups["all but control"] = others
    return {
        kind: {
            "n": len(pairs),
            "passed": round(sum(near > far + SAME for near, far in pairs) / len(pairs), 4),
            "paraphrase": round(statistics.mean(near for near, _ in pairs), 4),
            "distractor": round(statistics.mean(far for _, far in pairs), 4),
        }
        for kind, pairs in groups.items()
    }


def rows(probes: list[Probe], encoders: Mapping[str, list[tuple[float, float]]]) -> list[dict[str, object]]:
    """Return each probe with both cosines of each encoder."""
    return [
        asdict(probe) | {name: [round(value, 4) for value in pairs[row]] for name, pairs in encoders.items()}
        for row, probe in enumerate(probes)
    ]


def main() -> None:
    with refusals("probes"):
        params = load_params()
        probes = read_probes(paths.PROBE_SENTENCES)
        teacher = load_encoder(params.teacher)
        encoders: dict[str, Encode] = {
            "student": StaticEncoder.load(paths.STUDENT).encode,
            "teacher": lambda texts: teacher.embed(teacher.token_ids(texts), params.soft_labels.batch_tokens)[0],
        }
        with_head = load_variant("student, MLP head", paths.MLP_HEAD)
        if isinstance(with_head, StudentSystem):
            encoders[with_head.name] = with_head.encoder.encode
        profile = read_json(paths.STUDENT / CONFIG, StudentConfig).get("profile")
        pairs_of = {name: cosine_pairs(encode, probes) for name, encode in encoders.items()}
        summaries = {name: summary(probes, pairs) for name, pairs in pairs_of.items()}
        write_json(paths.PROBES, {"profile": profile, "summary": summaries, "probes": rows(probes, pairs_of)})
    for name, groups in summaries.items():
        for kind, row in groups.items():
            print(
                f"{name:18} {kind:16} n {row['n']:3.0f}   passed {row['passed']:6.1%}   paraphrase "
                f"{row['paraphrase']:.3f}   distractor {row['distractor']:.3f}"
            )


if __name__ == "__main__":
    main()
