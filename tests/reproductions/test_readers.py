"""Every JSON file of the reproductions is refused if its content is another one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproductions.grid.cell import _Content as CellContent
from reproductions.paper1.paper import Examples, PaperStudent, Simcse
from reproductions.paper1.word_vectors.fasttext import Subwords
from reproductions.paper1.word_vectors.model import Shape
from reproductions.paper2.pairs.about import About as ModelAbout
from reproductions.paper2.pairs.about import refuse_damaged
from reproductions.paper2.pairs.data import About as PairsAbout
from reproductions.paper2.pairs.starts import About as StartAbout
from reproductions.paper2.paper import Cost
from reproductions.paper3.paper import Grid, ParserScores
from reproductions.paper3.results import LearntFile
from reproductions.saved_matrix import Paraphrase, SavedMatrix
from sentence_distillery.io.artifacts import write_json, write_tensors
from tests.sentence_distillery.io.test_readers import CONFIG, Read, by, check_other_contents, check_refused, refused

CELL = {"encoder": "tiny", "pooling": "mean", "start": "", "strategy": "cosine"}
CURVE = {"cell": CELL, "seeds": 1, "threshold": [0.1, 0.9], "accuracy": [0.6, 0.7], "f1": [0.7, 0.8]}
ORDER = {"first": CELL, "second": CELL, "difference": 0.01, "share": 0.9}
DRAWN: dict[str, Any] = {"curves": [CURVE], "orders": [ORDER]}
WORDS = {"rows": ["a"], "columns": ["b", "c"], "cosines": [[None, 0.5]]}
TREE: dict[str, Any] = {"text": "dogs bark", "tokens": ["dogs", "bark"], "lemmas": ["dog", "bark"]}
TREE |= {"upos": ["NOUN", "VERB"], "xpos": ["NNS", "VBP"], "heads": [2, 0], "relations": ["nsubj", "root"]}
LEARNT = {"encoder": "tiny", "task": "sick", "kind": "tags", "step": 37, "weights": {"NOUN": 0.1}}
COMPONENT = {"kind": "one", "weights": {"component": 0.1}, "step": 3, "dev": 0.5, "cosines": [0.1], "gold": [0.2]}

JSON: dict[str, tuple[Any, Read]] = {  # a content that is right, and its reader
    "paper_student.json": (CONFIG | {"refined": "contrastive"}, by(PaperStudent)),
    "simcse.json": ({"absent": None, "objective": "unsupervised", "base": "mini", "examples": 3}, by(Simcse)),
    "skipgram.json": ({"vocabulary": 3, "dimension": 50}, by(Shape)),
    "fasttext.json": ({"vocabulary": 3, "dimension": 50, "buckets": 9, "minimum_n": 3, "maximum_n": 6}, by(Subwords)),
    "examples.json": (
        {"cosines": {"student": [0.5] * 6}, "words": {"skip-gram": [WORDS] * 2, "refined": [WORDS] * 2}},
        by(Examples),
    ),
    "pairs.json": ({"dataset": "mrpc", "pairs": {"test": 3}, "removed": {"a": 1}, "also": ["sick"]}, by(PairsAbout)),
    "start.json": ({"absent": None, "tuned": False, "pooling": "mean"}, by(StartAbout)),
    "model.json": (
        {"pooling": "cls", "maximum_length": 32, "head": "u,v", "strategy": "pair", "threshold": 0.5},
        by(ModelAbout),
    ),
    "cell.json": (
        {"place": {"encoder": "tiny"}, "data": "", "absent": None}
        | {"runs": [{"seed": 1, "figures": {"f1": 0.5}, "notes": [{"loss": 0.5}]}]},
        by(CellContent),
    ),
    "paraphrase.json": (
        DRAWN | {"dataset": "mrpc", "pairs": {"test": 3}, "removed": {"a": 1}, "winner": None},
        by(Paraphrase),
    ),
    "kept.json": (DRAWN | {"pairs": 3}, by(SavedMatrix)),
    "pair_cost.json": (
        {"absent": None, "encoder": "tiny", "sentences": 20, "corpus": 10_000}
        | {"systems": [{"system": "alone", "runs": 9}]},
        by(Cost),
    ),
    "component_focus.json": ({"trees": [TREE], "learnt": [LEARNT], "draws": 2000, "epochs": 4, "seeds": [1]}, by(Grid)),
    "learnt.json": ({"absent": None, "learnt": {"sick": [COMPONENT]}}, by(LearntFile)),
    "scores.json": ({"test": {"UAS": 81.11}}, by(ParserScores)),
}


@pytest.mark.parametrize("name", JSON)
@pytest.mark.fault(41)
def test_json_of_another_content(name: str, tmp_path: Path) -> None:
    check_other_contents(*JSON[name], tmp_path / name)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("examples.json", ("cosines", "student"), [0.5] * 5, "at least 6 items"),
        ("examples.json", ("cosines", "student", 0), 1.5, "less than or equal to"),
        ("examples.json", ("words", "refined", 0, "cosines"), [[0.5]], "a value for each column"),
        ("component_focus.json", ("trees", 0, "heads"), [3, 0], "a head outside of it"),
        ("paraphrase.json", ("curves", 0, "f1"), [0.7], "differ in length"),
        ("skipgram.json", ("dimension",), 0, "greater than or equal to 1"),
        ("learnt.json", ("learnt", "sick", 0, "gold"), [0.1, 0.2], "2 human ratings"),
        ("model.json", ("head",), "u+v+w", "not a valid Combination"),
    ],
)
@pytest.mark.fault(41)
def test_figures_that_cannot_be(name: str, place: tuple[Any, ...], value: object, message: str, tmp_path: Path) -> None:
    """Numbers that contradict each other, or lie outside of their range."""
    check_refused(*JSON[name], tmp_path / name, place, value, message)


@pytest.mark.fault(41)
def test_a_damaged_model_of_pairs_is_not_published(tmp_path: Path) -> None:
    """The best cell is copied to models/paraphraser only if its reader would take it."""
    about, weights = tmp_path / "pairs.json", tmp_path / "model.safetensors"
    right = JSON["model.json"][0]
    write_json(about, right)
    write_tensors(weights, {"n": np.arange(100)})
    refuse_damaged(tmp_path)
    for path, content in ((about, b"{}"), (about, b""), (weights, b"{}"), (weights, weights.read_bytes()[:40])):
        kept = path.read_bytes()
        path.write_bytes(content)
        refused(lambda _: refuse_damaged(tmp_path), path)
        path.write_bytes(kept)
