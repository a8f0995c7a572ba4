"""The JavaScript file in Node: the vectors are Python's within 1e-6, for hostile texts and real ones."""

import json
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from measurements.fuzz import lines_of, models, named, texts
from sentence_distillery import StaticEncoder, load
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.persistence.finding import RELEASED_DIRECTORY
from sentence_distillery.io.ragged import Floats
from tests.strings import any_strings

HOSTILE, DRAWN = 10_000, 4_000
REAL = 4_000  # lines of each file
SHARED = Path(__file__).parents[3] / "shared"
TOLERANCE = 1e-6

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node: apt-get install nodejs")


@dataclass
class Task:
    """Texts for a model, with options of JavaScript's load and encode."""

    model: Path
    texts: list[str]
    loading: dict[str, object] = field(default_factory=dict)
    encoding: dict[str, object] = field(default_factory=dict)


def in_node(library: Path, tasks: list[Task], directory: Path) -> list[Floats]:
    """Encode in one process of Node; the vectors of each task, (texts, dimension) float32."""
    targets = [directory / f"{number}.bin" for number in range(len(tasks))]
    content = [
        {**vars(task), "model": str(task.model), "target": str(target)}
        for task, target in zip(tasks, targets, strict=True)
    ]
    (directory / "tasks.json").write_text(json.dumps(content), encoding="utf-8")
    script = Path(__file__).with_name("encode_core.mjs")
    command = ["node", str(script), str(library), str(directory / "tasks.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [np.fromfile(target, np.float32) for target in targets]
    return [vectors.reshape(len(task.texts), -1) for task, vectors in zip(tasks, found, strict=True)]


def check(vectors: Floats, expected: Floats, texts: list[str]) -> None:
    assert vectors.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    apart = np.abs(vectors - expected).max(axis=1)
    row = int(np.argmax(apart))
    assert apart[row] <= TOLERANCE * scale, f"{texts[row]!r} differs by {apart[row]}"


def encoders() -> dict[str, StaticEncoder]:
    """Those of the fuzz, and further ways to store a table."""
    released = load("released")
    rare = compress(released, dimension=33, vocabulary=9_000, precision="float32")
    levels = compress(released, dimension=64, vocabulary=9_000, precision="levels")
    return {**models(), "float32": rare, "levels": levels}


@pytest.mark.parametrize("name", ["released", "released-search", "float16", "float32", "levels", "odd", "BERT"])
def test_hostile_texts(library: Path, tmp_path: Path, name: str) -> None:
    """Strings of all scripts, random and mutated ones, marks in any order, halves of surrogate pairs; also as means."""
    encoder = encoders()[name]
    encoder.save_pretrained(tmp_path / "model")
    drawn = texts(random.Random(7), named(encoder, range(1, len(encoder.stored))), [])
    hostile = any_strings(HOSTILE) + list(islice(drawn, DRAWN)) + ["", " ", "a" * 100_000, "storm " * 20_000]
    tasks = [
        Task(tmp_path / "model", hostile),
        Task(tmp_path / "model", hostile[-2_000:], {"truncateDim": 17}, {"normalize": False}),
    ]
    unit, means = in_node(library, tasks, tmp_path)
    check(unit, encoder.encode(hostile), hostile)
    check(means, encoder.encode(hostile[-2_000:], normalize_embeddings=False, truncate_dim=17), hostile[-2_000:])


def test_real_texts(library: Path, tmp_path: Path) -> None:
    """Tweets, and sentences of a dozen languages."""
    files = [*SHARED.glob("texts/*.parquet"), *SHARED.glob("multilingual/tatoeba/*.???")]
    if not files:
        pytest.skip("no files of texts next to the repository")
    real = [line for file in files for line in lines_of([file])[:REAL]]
    (vectors,) = in_node(library, [Task(RELEASED_DIRECTORY, real)], tmp_path)
    check(vectors, load().encode(real), real)
