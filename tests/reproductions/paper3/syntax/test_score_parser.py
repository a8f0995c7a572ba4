"""Raw text from a treebank, and the official scores of an analysis of it."""

import json
import shutil
from pathlib import Path

import pytest

from reproductions.paper3.paper import ParserScores
from reproductions.paper3.syntax.scoring import SCORES, raw_text, scores
from sentence_distillery.io.artifacts import InputError, read_json
from stages import paths
from stages.paper3 import score_parser
from tests.workspace import ROOT

REFERENCE = """# newdoc id = a
# newpar id = a-p1
# text = Dogs don't bark.
1\tDogs\tdog\tNOUN\tNNS\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# text = Cats do
1\tCats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tdo\tdo\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No

# newpar id = a-p2
# text = End
1\tEnd\tend\tNOUN\tNN\t_\t0\troot\t_\t_

"""


def test_sentences_of_a_paragraph_share_a_line() -> None:
    assert raw_text(REFERENCE) == "Dogs don't bark. Cats do\n\nEnd"


def test_the_treebank_itself_is_perfect() -> None:
    assert set(scores(REFERENCE, REFERENCE).values()) == {100.0}


def test_one_wrong_head_of_eight_words() -> None:
    found = scores(REFERENCE, REFERENCE.replace("\t_\t4\tnsubj", "\t_\t2\tnsubj"))
    assert found["UAS"] == found["LAS"] == 87.5
    assert found["Words"] == 100.0


def test_a_wrong_relation_costs_las_alone() -> None:
    found = scores(REFERENCE, REFERENCE.replace("\t2\tnsubj", "\t2\tobj"))
    assert (found["UAS"], found["LAS"]) == (100.0, 87.5)


def test_a_missed_sentence_end() -> None:
    joined = REFERENCE.replace("\n\n# text = Cats do\n1\tCats\tcat\tNOUN\tNNS\t_\t2", "\n6\tCats\tcat\tNOUN\tNNS\t_\t7")
    joined = joined.replace("\n2\tdo\tdo\tVERB\tVBP\t_\t0\troot", "\n7\tdo\tdo\tVERB\tVBP\t_\t4\tparataxis")
    found = scores(REFERENCE, joined)
    assert found["Sentences"] < 100.0
    assert found["Tokens"] == 100.0
    assert found["UAS"] == 87.5


@pytest.mark.parametrize("conllu", ["", "\n", "1\tEnd\tend\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"])
def test_a_treebank_without_texts(conllu: str) -> None:
    with pytest.raises(InputError, match=r"Sentence 1 of the treebank has no line '# text = \.\.\.'"):
        raw_text(conllu)


def test_the_stage_keeps_the_figures_of_the_other_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the parser that ships, on a treebank of three sentences."""
    monkeypatch.chdir(tmp_path)
    parser, treebank = tmp_path / paths.PARSER, tmp_path / paths.TREEBANK
    shutil.copytree(ROOT / paths.PARSER, parser)
    (parser / SCORES).unlink()
    treebank.mkdir(parents=True)
    for split in ("dev", "test"):
        (treebank / f"en_ewt-ud-{split}.conllu").write_text(REFERENCE, encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["score_parser", split])
        score_parser.main()
        assert json.loads(capsys.readouterr().out) == read_json(parser / SCORES, ParserScores)[split]
    found = read_json(parser / SCORES, ParserScores)
    assert set(found) == {"dev", "test"} and found["dev"] == found["test"] and found["dev"]["Tokens"] > 90
    (treebank / "en_ewt-ud-dev.conllu").unlink()
    monkeypatch.setattr("sys.argv", ["score_parser", "dev"])
    with pytest.raises(SystemExit, match=r"score_parser: .*en_ewt-ud-dev\.conllu"):
        score_parser.main()
