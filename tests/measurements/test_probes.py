"""The probes that ship, and their scores with a bag of words."""

from pathlib import Path

import numpy as np
import pytest

from measurements.probes import Probe, cosine_pairs, read_probes, rows, summary
from sentence_distillery.encoder.tokenizer import words
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

ROOT = Path(__file__).parents[2]


def bag_of_words(texts: list[str]) -> Floats:
    """Counts of words: the encoder that cannot know any order."""
    vectors = np.zeros((len(texts), 997), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in words(text):
            vectors[row, sum(map(ord, word)) * len(word) % 997] += 1
    return vectors


def test_those_that_ship() -> None:
    probes = read_probes(ROOT / "data/samples/probes.csv")
    kinds = [probe.kind for probe in probes]
    assert 40 <= len(probes) <= 80
    assert all(kinds.count(kind) >= 10 for kind in ("role swap", "word order", "negation", "antonym", "number"))
    assert [(p.sentence, p.distractor) for p in probes if p.kind == "paper 1"] == [
        ("Yes, there is a rule against this.", "There's no rule against it.")
    ]
    texts = [text for probe in probes for text in (probe.sentence, probe.paraphrase, probe.distractor)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("kind", ["role swap", "word order"])
def test_a_bag_of_words_is_blind_to_order(kind: str) -> None:
    """The distractors have the same words as their sentences, so nothing that sums words can pass."""
    probes = [probe for probe in read_probes(ROOT / "data/samples/probes.csv") if probe.kind == kind]
    found = cosine_pairs(bag_of_words, probes)
    assert summary(probes, found)[kind]["passed"] == 0.0
    assert [far for _, far in found] == pytest.approx([1.0] * len(probes))


def test_summary_by_hand() -> None:
    probes = [Probe("negation", "a", "b", "c"), Probe("negation", "d", "e", "f"), Probe("control", "g", "h", "i")]
    found = summary(probes, [(0.5, 0.25), (0.5, 0.5), (0.9, 0.1)])
    assert found["negation"] == {"n": 2, "passed": 0.5, "paraphrase": 0.5, "distractor": 0.375}
    assert found["control"]["passed"] == 1.0
    assert found["all but control"] == found["negation"]
    assert rows(probes, {"x": [(0.5, 0.25), (0.5, 0.5), (0.9, 0.1)]})[0]["x"] == [0.5, 0.25]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("kind,sentence,paraphrase,distractor\nnegation,a,b\n", r"row 1: it has more or fewer fields"),
        ("kind,sentence,paraphrase,distractor\nnegation,a,b,\n", r"row 1 needs the columns"),
        ("kind,sentence\nnegation,a\n", r"row 1 needs the columns"),
        ("kind,sentence,paraphrase,distractor\n", "has no probes"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "probes.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_probes(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_probes(tmp_path / "absent.csv")
