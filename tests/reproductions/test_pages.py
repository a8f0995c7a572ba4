"""The pages on the papers: their tables beside the papers' figures, their claims, and files that are missing."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reproductions.paper1 import reproduction
from reproductions.paper1.published import with_published
from reproductions.paper2 import section as paper_2
from reproductions.paper2.cell import PairCell
from reproductions.paper3 import section as paper_3
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting.sizes import read_pareto
from sentence_distillery.reporting.tables import Table
from stages import paths
from stages.reporting import paper_pages
from tests.sentence_distillery.reporting import test_report
from tests.sentence_distillery.reporting.test_report import (
    HOSTILE,
    STUDENT,
    benchmark,
    check,
    demo,
    page,
    scored,
    shown,
    write_figures,
    write_json,
    write_provenance,
)
from tests.workspace import ROOT, write_params

PAPER_STUDENT = paths.PAPER_STUDENT / "config.json"
SIMCSE = paper_pages.FILES["simcse"]
run = test_report.workspace


@pytest.fixture
def workspace(run: Path) -> Path:
    """The inputs of the pages on the papers, next to those of the report."""
    (paths.CURVES / "refine.csv").write_text("iteration,mean_kl,displacement\n1,0.0179,0.0001\n2,0.0186,0.0043\n")
    (paths.CURVES / "paper_student.csv").write_text("epoch,loss,dev_spearman\n1,0.9,0.2\n2,0.8,0.3\n")
    (paths.CURVES / "repulsion.csv").write_text(REPULSION)
    write_json(SIMCSE, {"absent": None, "objective": "unsupervised", "base": "package:mini", "examples": 640})
    write_json(PAPER_STUDENT, json.loads(STUDENT.read_text()) | {"refined": "contrastive"})
    write_json(paths.PAPER1_GAINS, [])
    write_examples()
    write_focus()
    write_paraphrase()
    for name in ("refine", "repulsion", "parse"):
        write_json(paths.COUNTERS / f"{name}.json", json.loads((paths.COUNTERS / "clean.json").read_text()))
    return run


REPULSION = """learning_rate,iteration,displacement,spearman
0.0001,0,0.0,0.31
0.0001,50,0.004,0.31
0.01,0,0.0,0.31
0.01,50,3.75,0.219
"""


def write_examples() -> None:
    """Before and after differ by 0.5 for the first pair; of its words, `a` has no vector."""
    words = [
        {"rows": ["a", "man"], "columns": ["meat", "a", HOSTILE], "cosines": [[None] * 3, [value, None, -0.75]]}
        for value in (0.125, 0.875)
    ]
    cosines = {"skip-gram": [0.25] * 6, "refined": [0.75] * 6, "student": [0.5] * 6, "newcomer": [None] * 6}
    write_json(paths.EXAMPLES, {"cosines": cosines, "words": {"skip-gram": words, "refined": words[::-1]}})


def focus_row(encoder: str, weight: float | str, dataset: str, value: float, n: int) -> Result:
    """Make the row of a trained cell of paper 3."""
    name = f"{encoder}, W_cf {f'learnt: {weight}' if isinstance(weight, str) else f'= {weight:g}'}"
    where = (name, dataset, "test", "component focus", "pearson")
    return Result(*where, value, n, "3", "5", encoder=encoder, strategy="component focus", weight=weight)


def pair_rows(cell: PairCell, dataset: str, accuracy: float, n: int, table: str = "") -> list[Result]:
    """Make the rows of a cell of paper 2: accuracy, F1 and seconds."""
    where = (f"{cell.encoder} {cell.pooling}", dataset, "test", cell.name)
    values = {"accuracy": accuracy, "f1": 0.8, "seconds": 412.0}
    spreads = {"f1": 0.01}
    return [
        Result(*where, metric, value, n, "2", table, spread=spreads.get(metric), **cell.content())
        for metric, value in values.items()
    ]


def write_focus() -> None:
    """Paper 3: a cell, its gain, a tree whose words are hostile, and the parser's scores."""
    cell = focus_row("tiny", 0.2, "sick", 0.8123, 84)
    gain = replace(cell, metric="pearson gain", value=0.0123, low=-0.001, high=0.02)
    write_results(paths.COMPONENT_RESULTS, [cell, gain])
    tree: dict[str, Any] = {"text": "x", "tokens": ["dogs", HOSTILE], "lemmas": ["dog", "x"], "upos": ["NOUN", "VERB"]}
    tree |= {"xpos": ["NNS", "VBP"], "heads": [2, 0], "relations": ["nsubj", "root"]}
    learnt = {"encoder": HOSTILE, "task": "sick", "kind": "tags", "step": 37, "weights": {HOSTILE: 0.1, "PART": -0.54}}
    about = {"learnt": [learnt], "trees": [tree], "draws": 2000, "seeds": [1], "epochs": 4}
    write_json(paths.COMPONENT_REPORT, about)
    write_json(paper_pages.FILES["parser_scores"], {"test": {"UAS": 80.25, "LAS": 76.5}})


def write_paraphrase() -> None:
    """Write paper 2's results: a cell with figures, one without, table 4, and the cost of comparing sentences."""
    cell = PairCell("tiny", "mean", "", "cosine")
    accuracy, *others = pair_rows(cell, HOSTILE, 0.7123, 84)
    rows = [replace(accuracy, low=0.68, high=0.74, spread=0.01, seeds=2), *others]
    rows += [replace(accuracy, split="validation", value=0.7, n=125), replace(accuracy, metric="threshold", value=0.5)]
    rows += [replace(accuracy, metric="accuracy by cosine"), replace(accuracy, metric="epochs", value=30.0)]
    rows.append(replace(accuracy, dataset="stsb", metric="spearman", value=0.5))
    absent = replace(cell, pooling="cls")
    rows += [replace(row, value=Unavailable(HOSTILE)) for row in pair_rows(absent, HOSTILE, 0.0, 0)[:2]]
    rows += pair_rows(PairCell("tiny", "cls", "the heads alone", "u,v"), HOSTILE, 0.6987, 84, "4")[:2]
    write_results(paths.PARAPHRASE_RESULTS, rows)
    found: dict[str, Any] = {
        "dataset": HOSTILE,
        "pairs": {"train": 9, "validation": 2, "test": 84},
        "removed": {"pair of x test": 3},
        "winner": "tiny-mean-cosine",
    }
    curve = {"threshold": [0.1, 0.9], "accuracy": [0.6, 0.7], "f1": [0.7, 0.8], "seeds": 2}
    first, second = PairCell("tiny", "mean", "", "triplet"), PairCell("tiny", "mean", "combined", "cosine")
    order = {"first": first.content(), "second": second.content(), "difference": 0.0123, "share": 0.97}
    found |= {"curves": [curve | {"cell": cell.content()}], "orders": [order]}
    write_json(paths.PARAPHRASE_REPORT, found)
    systems = [{"system": name, "runs": runs} for name, runs in (("joined", 49_995_000), ("alone", 10_000))]
    cost = {"encoder": "tiny", "sentences": 20, "corpus": 10_000, "absent": None, "systems": systems}
    write_json(paths.PAIR_COST, cost)


def paper(key: str) -> str:
    """The page on a paper."""
    paper_pages.main()
    return (paths.REPORTS / f"{key}.html").read_text(encoding="utf-8")


def test_refinement_by_either_objective(workspace: Path) -> None:
    assert "Algorithm 1 of paper 1 pushes the sentences of a batch apart" in paper("paper1")
    rows = "iteration,mean_kl,displacement,loss,related_kl\n1,0.4,0.5,7.5,0.21\n2,0.6,0.9,5.5,0.13\n"
    (paths.CURVES / "refine.csv").write_text(rows)
    text = " ".join(paper("paper1").split())
    assert "of related sentences went from 0.21 to 0.13 and that of unrelated ones went from 0.4 to 0.6 over" in text
    assert "Mean KL divergence of related sentences" in text
    assert "pushes the sentences of a batch apart" not in text


def test_repulsion_has_a_chart_for_each_learning_rate(workspace: Path) -> None:
    text = paper("paper1")
    assert "Spearman ×100, learning rate 0.0001 by iteration: 31 at 0, 31 at 50." in text
    assert "Spearman ×100, learning rate 0.01 by iteration: 31 at 0, 21.9 at 50." in text
    assert "on lee/test" in text
    (paths.CURVES / "repulsion.csv").write_text("learning_rate,iteration,displacement,spearman\n")
    write_json(
        paths.COUNTERS / "repulsion.json",
        json.loads((paths.COUNTERS / "refine.json").read_text()) | {"total": 3, "kept": 0},
    )
    assert "<h3>Algorithm 1 as printed</h3>" not in paper("paper1")


def beside_paper() -> list[Result]:
    """STS-B and IMDB test: Word2Vec, an absent BERT, and a student that is not MyModel."""
    stsb = scored("stsb", n=1379)
    absent = [
        replace(result, system="BERT", value=Unavailable("weights not available here"), paper="1")
        for result in stsb
        if result.system == "teacher"
    ]
    sgd = [
        Result("skip-gram", "imdb", "test", "sgd", metric, 0.7123, 25000) for metric in ("precision", "recall", "f1")
    ]
    return [*demo(), *stsb, *scored("stsb", "dev", 1500), *absent, *sgd]


def test_tables_beside_paper_1(workspace: Path) -> None:
    imdb = benchmark("documents", {"train": 25000, "test": 25000})
    stsb = benchmark("pairs", {"dev": 1500, "test": 1379})
    write_provenance({"mrpc": "bring <it>"}, stsb=stsb, imdb=imdb)
    write_figures(beside_paper())
    outline = check(page())
    assert "keeps 81% of its teacher’s Spearman correlation on STS-B test and encodes" in outline.text
    assert {"Validation splits", "MRPC", "bring <it>."} <= set(outline.words)
    outline = check(paper("paper1"))
    assert {shown(result) for result in demo()} <= {*outline.words, *outline.text.split()}
    assert {"37.9", "SimCSE", "49.0", "1.343"} <= set(outline.words)
    for caption in (
        "Table 4: mean of the vectors",
        "Table 5: TF-IDF weights",
        "Table 6: dynamic principal component smoothing",
        "Table 3: sentiment by an SGD classifier",
    ):
        assert outline.words.count(caption) == 1
    assert "IMDB test, 25,000 documents" in outline.text
    assert {"71.23", "66.0", "2.0"} <= set(outline.words)  # Word2Vec's precision of both, its recall of the paper
    assert "SimCSE was fine-tuned here, unsupervised, from package:mini on 640 examples." in outline.text
    assert "weights not available here" in outline.words
    assert "MyModel is paper 1’s student" in " ".join(outline.text.split())


SETS = {"stsb": benchmark("pairs", {"test": 1379}), "imdb": benchmark("documents", {"test": 25000})}


def tables(*more: Result) -> list[Table]:
    return reproduction.tables([with_published(row) for row in (*beside_paper(), *more)], SETS)


@pytest.mark.fault(25)
def test_rows_of_a_table_beside_the_paper() -> None:
    """Each system of the paper has its row; a figure that is not here is a dash, not another system's."""
    (_, systems), (_, others) = tables()[0].blocks
    cells = {name: [cell[0].text for cell in found] for name, found in systems}
    assert list(cells) == ["Word2Vec", "GloVe", "FastText", "BERT", "SBERT", "SimCSE", "MyModel"]
    assert cells["Word2Vec"] == ["41.37", "4.4", "31.37", "37.9", "1.814", "2.313"]
    assert cells["MyModel"] == ["—", "47.0", "—", "48.1", "—", "2.100"]  # our own student does not stand in for it
    notes = {name: found[0][0].note for name, found in systems}
    assert notes["BERT"] == "weights not available here"
    assert notes["SBERT"] == "not among the systems of this run"
    assert [name for name, _ in others] == ["refined", "student", "teacher"]
    best = [name for name, found in systems if found[3][0].best]
    assert best == ["SimCSE"]


def test_rows_tested_on_fewer_documents_say_so() -> None:
    """A transformer that classified 500 reviews is in one table with systems that classified 25,000."""
    few = [Result("teacher", "imdb", "test", "sgd", metric, 0.7, 500) for metric in ("precision", "recall", "f1")]
    *others, table = tables(*few)
    (_, systems), (_, more) = table.blocks
    assert table.groups[-1][0] == "Rows"
    assert [dict(systems)["Word2Vec"][-1][0].text, dict(systems)["GloVe"][-1][0].text] == ["25,000", ""]
    assert dict(more)["teacher"][-1][0].text == "500"
    assert "Rows" not in [label for found in others for label, _ in found.groups]


def test_mymodel_and_a_calibrated_error() -> None:
    """Paper 1's student is in its row and ours below; the calibrated error has a column without the paper's."""
    paper = [replace(result, system="paper student") for result in beside_paper() if result.system == "student"]
    calibrated = Result("student", "stsb", "test", "mean", "mae_calibrated", 0.7512, 1379)
    four, five, *_ = tables(*paper, calibrated)
    (_, systems), (_, others) = four.blocks
    assert dict(systems)["MyModel"][0][0].text == "50.98"
    assert [name for name, _ in others] == ["refined", "student", "teacher"]
    assert four.groups[-1][0] == "MAE calibrated 0–5" and len(five.groups) == 3
    assert [dict(others)[name][-1][0].text for name in ("student", "teacher")] == ["0.751", "—"]


@pytest.mark.parametrize(
    "path",
    [
        SIMCSE,
        PAPER_STUDENT,
        paths.PAPER1_RESULTS,
        paths.PAPER1_GAINS,
        paths.EXAMPLES,
        paths.PARAPHRASE_REPORT,
        paths.COMPONENT_REPORT,
        paths.CURVES / "paper_student.csv",
        paths.CURVES / "refine.csv",
        paths.CURVES / "repulsion.csv",
        *(paths.COUNTERS / f"{name}.json" for name in ("repulsion", "parse")),
    ],
    ids=str,
)
def test_a_missing_file_of_a_paper_is_named(workspace: Path, path: Path) -> None:
    path.unlink()
    with pytest.raises(SystemExit, match=rf"paper_pages: {re.escape(str(path))} cannot be read"):
        paper_pages.main()


@pytest.mark.fault(25)
def test_the_pages_link_to_each_other(workspace: Path) -> None:
    """The report names each paper, and each paper the report and the others."""
    assert {f'<a href="paper{number}.html">' for number in (1, 2, 3)} <= set(
        re.findall(r"<a href=\"paper\d.html\">", page())
    )
    links = set(re.findall(r'<a href="([a-z0-9]+\.html)">', paper("paper2")))
    assert links == {"index.html", "paper1.html", "paper3.html"}


def test_paper_3_and_the_trees(workspace: Path) -> None:
    text = paper("paper3")
    claimed = re.search(r"Trained with the component at 0.2, encoders.*?</tr>", text, re.DOTALL)
    assert claimed and "undecided" in claimed[0] and "+1.23 [−0.10, 2.00]" in claimed[0]
    assert "+1.23" in text and "−0.10 to +2.00" in text
    assert "PART −0.54, " in text and HOSTILE not in text
    assert "81.23" in text and "89.29" in text  # ours, and what the paper printed
    assert "UAS 80.25 and LAS 76.5" in text
    assert text.count('class="arc"') == 2


def test_paper_2(workspace: Path) -> None:
    """Its tables, a cell without figures, table 4, the order, and the runs of each way."""
    whole = paper("paper2")
    text = re.sub(r"<[^>]+>", " ", whole)
    for expected in ("Table 1: cosine", "71.23", "Table 4: tiny CLS", "(u, v)", "69.87"):
        assert expected in text
    assert "84 test pairs" in text and "125 test pairs" not in text
    assert "combined cosine" in text and "97%" in text and "3 pairs of train were removed" in text
    assert "49,995,000" in text and "reports/costs/pair_seconds.json" in text
    assert HOSTILE not in whole


def test_what_longer_runs_have_left(workspace: Path) -> None:
    """Cells of paper 2 in the paper's order, whatever the order of the file; paper 3's by weight, with their gains."""
    assert "as far as" not in paper("paper2") + paper("paper3")
    cells = [PairCell("tiny", "cls", "", "cosine"), PairCell("tiny", "mean", "modern", "pair")]
    cells += [PairCell("tiny", "mean", start, name) for start, name in (("combined", "siamese"), ("", "siamese"))]
    cells.append(PairCell("tiny", "mean", "", HOSTILE))
    kept = [row for cell in cells for row in pair_rows(cell, "mrpc", 0.7319, 1725)]
    kept[-3] = replace(kept[-3], low=0.68, high=0.74)
    gone = pair_rows(PairCell("big", "max", "", "triplet"), "mrpc", 0.0, 0)[:1]
    absent = [replace(row, value=Unavailable("weights not available here")) for row in gone]
    fourth = pair_rows(PairCell("tiny", "cls", "the encoder too", "|u-v|,u*v"), "mrpc", 0.7654, 1725, "4")[:2]
    write_results(paths.PARAPHRASE_RUNS / "mrpc.csv", kept + absent + fourth)
    first, second = PairCell("tiny", "mean", "", "ranking"), cells[0]
    orders = [{"first": first.content(), "second": second.content(), "difference": 0.0345, "share": 0.62}]
    curve = {"threshold": [0.1, 0.9], "accuracy": [0.6, 0.7], "f1": [0.7, 0.8], "seeds": 1}
    curves = [curve | {"cell": cells[1].content()}]
    write_json(paths.PARAPHRASE_RUNS / "mrpc.json", {"pairs": 1725, "curves": curves, "orders": orders})
    weights: tuple[float | str, ...] = ("one", 0.5, 0.0)
    grid = [focus_row(encoder, weight, "stsb", 0.8, 1379) for encoder in (HOSTILE, "tiny") for weight in weights]
    gain = replace(focus_row("tiny", 0.2, "stsb", -0.0321, 1379), metric="pearson gain", low=-0.04, high=-0.02)
    write_results(paths.COMPONENT_RUNS / "stsb.csv", [*grid, gain])
    (_, paper_2), (_, paper_3) = (check(paper(key)).text.split("as far as the ") for key in ("paper2", "paper3"))
    for earlier, later in pairwise(("Siamese", "combined Siamese", "modern cross-encoder", HOSTILE)):
        assert f"tiny MEAN {earlier} 73.19 80.00 412 1 tiny MEAN {later} 73.19" in paper_2
    assert "Table 4: tiny CLS 1,725 test pairs Vectors the encoder too" in paper_2 and "(|u-v|, u * v) 76.54" in paper_2
    assert "1,725 test pairs" in paper_2 and "weights not available here" in paper_2
    assert "tiny MEAN ranking cosine 3.45 62%" in paper_2 and "68.00 to 74.00" in paper_2  # of mrpc.json
    assert "tiny MEAN, modern cross-encoder: 73.19" in paper_2 and "tiny CLS, modern cross-encoder: not run" in paper_2
    assert "−3.21 −4.00 to −2.00 1,379 1 worse" in paper_3
    assert "tiny, W_cf = 0 80.00 tiny, W_cf learnt: one 80.00" in paper_3  # and 0.5 in the grid alone
    assert "System W_cf 0 0.1 0.2" in paper_3 and "STS-B, tiny 80.00 80.00" in paper_3


def test_spread_over_seeds(workspace: Path) -> None:
    """FastText under other seeds has its mean and its spread on the page, next to the run's own figure."""
    write_params(seeds={"values": [2, 3]})
    own = Result("FastText", "lee", "test", "mean", "pearson", 0.3333, 1225)
    write_figures([*demo(), own])
    for seed, more in {2: 0.0123, 3: 0.0246}.items():
        write_results(paths.SEEDS / f"{seed}.csv", [replace(own, value=0.3333 + more)])
    assert {"34.56", "± 1.23", "Other seeds"} <= set(check(paper("paper1")).words)


def test_figures_that_git_has_kept() -> None:
    """They are read, and have the names of today's systems."""
    sizes = read_pareto(ROOT / "reports/pareto.csv")
    assert {"own", "released", "MLP head", "teacher"} <= {row["system"] for row in sizes}
    (matrix,) = paper_2.kept(ROOT / "reports/runs/paraphrase")
    assert "intermediate cross-encoder, model soup" in {cell["name"] for cell in matrix["cells"]}
    assert all(0 <= cell["validation"] <= 1 for cell in matrix["cells"] if cell["validation"] is not None)
    assert matrix["file"].endswith("paraphrase/mrpc.csv")
    grid = paper_3.kept(ROOT / "reports/runs/component_focus")
    shown = {name for table in grid["tables"] for _, lines in table.blocks for name, _ in lines}
    assert "minilm-l6, model soup, W_cf = 0, after pooling" in shown
    assert not [name for name in shown if "mean weights" in name]
