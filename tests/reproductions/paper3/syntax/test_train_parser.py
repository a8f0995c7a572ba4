"""The project's parts of the recipe; the other tests load the models that it made."""

from pathlib import Path

import pytest

from reproductions.paper3.syntax.training import most_frequent, share_equal
from stages.paper3 import train_parser

SENTENCES = [
    [["The", "DET", "DT"], ["run", "NOUN", "NN"], ["ended", "VERB", "VBD"]],
    [["They", "PRON", "PRP"], ["run", "VERB", "VBP"], ["the", "DET", "DT"], ["run", "NOUN", "NN"]],
    [["Gale", "PROPN", "NNP"], ["hit", "PROPN", "NNP"]],
]


def test_a_word_gets_the_tag_that_it_has_most_often() -> None:
    found = most_frequent(SENTENCES)
    assert [tags[0] for tags in found[1]][1:] == ["NOUN", "DET", "NOUN"]


def test_words_that_come_once_share_a_tag() -> None:
    """Two of the five words that come once are PROPN, so a rare word is one."""
    found = most_frequent(SENTENCES)
    assert found[0][2] == found[1][0] == ("PROPN", "NNP")


def test_the_share_of_equal_rows() -> None:
    assert share_equal([["A", "a"], ["B", "b"]], [("A", "a"), ("B", "c")]) == 0.5


@pytest.mark.fault(24)
def test_without_the_treebank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the missing file, and how to get it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        SystemExit,
        match=r"train_parser: .*ud-train.conllu does not exist; put the files of the treebank UD English EWT into",
    ):
        train_parser.main()
