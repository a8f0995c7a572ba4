"""The scorer of sentence ends and boilerplate: places known by hand, and floors for `clean`."""

from pathlib import Path

import pytest

from measurements.corpus_quality import (
    SAMPLE,
    Line,
    Paragraph,
    inner_ends,
    paragraph,
    read_sample,
    read_treebank,
    score_boilerplate,
    score_marks,
    score_splitter,
)
from sentence_distillery.corpus.sentences import split_sentences
from sentence_distillery.io.artifacts import InputError
from stages.params import PARAMS, load_params
from tests.workspace import ROOT

TREEBANK = """# newdoc id = 1
# text = He left.
1\tHe\t_
2\tleft\t_\t_\tSpaceAfter=No
3\t.\t_\t_\t_

# text = Why?
1\tWhy\t_\t_\tSpaceAfter=No
2\t?\t_\t_\tSpaceAfter=No

# text = "No."
1\tNo\t_

# newpar
# text = Next
1\tNext\t_
"""


def test_ends_of_a_treebank(tmp_path: Path) -> None:
    """Sentences are joined as SpaceAfter says; a paragraph's own end does not count."""
    (tmp_path / "en_ewt-ud-test.conllu").write_text(TREEBANK)
    first, second = read_treebank(tmp_path, "test")
    assert first == Paragraph('He left. Why?"No."', frozenset({8, 13}))
    assert second == Paragraph("Next", frozenset())
    with pytest.raises(InputError, match=r"en_ewt-ud-dev\.conllu does not exist"):
        list(read_treebank(tmp_path, "dev"))


def test_figures_by_hand() -> None:
    """One of two ends is found, and one false end."""
    text = paragraph(["One.", "Two is it.", "Three."], [" ", " ", ""])
    assert text.ends == {4, 15}
    assert inner_ends(text.text, ["One.", "Two is", "it. Three."]) == {4, 11}
    score = score_splitter(lambda _: ["One.", "Two is", "it. Three."], [text])
    assert score == {"precision": "0.5000", "recall": "0.5000", "f1": "0.5000", "n": "2", "note": ""}


def test_the_most_that_marks_can_tell() -> None:
    """Of three inner ends one has no mark; a quote may stand after it."""
    text = paragraph(["Stay tuned", "No!", 'She said "Yes."', "Then left."], [" ", " ", " ", ""])
    score = score_marks([text])
    assert (score["precision"], score["recall"], score["f1"], score["n"]) == ("1.0000", "0.6667", "0.8000", "3")


def test_boilerplate_by_hand() -> None:
    """A button is found, a banner is missed, and a line keeps its text without the dateline."""
    clean = load_params(ROOT / PARAMS).clean
    lines = [
        Line("a", "daily", True, "Share this article"),
        Line("a", "daily", True, "Our paper wants to send you a letter."),
        Line("a", "daily", False, "OSLO, May 4 (Reuters) - Shares fell by a third. | Nobody knows why."),
    ]
    score = score_boilerplate(lines, clean)
    assert (score["precision"], score["recall"], score["n"]) == ("1.0000", "0.5000", "2")


def test_what_clean_reaches_on_the_sample() -> None:
    """Floors, a little below the measured values: lower them only for a reason."""
    lines = read_sample(ROOT / SAMPLE)
    assert len(lines) == 117 and sum(line.boilerplate for line in lines) == 51
    ends = score_splitter(
        lambda text: split_sentences(text, "en"), [line.paragraph for line in lines if not line.boilerplate]
    )
    boilerplate = score_boilerplate(lines, load_params(ROOT / PARAMS).clean)
    assert float(ends["f1"]) >= 0.94
    assert float(boilerplate["precision"]) >= 0.99 and float(boilerplate["recall"]) >= 0.94
