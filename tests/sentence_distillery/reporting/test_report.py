"""The report stage: the content of the page, and its validity as HTML."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from reproductions.paper1 import reproduction
from reproductions.paper1.published import with_published
from reproductions.paper2.cell import PairCell
from reproductions.systems.registry import SYSTEMS
from sentence_distillery.domain.measures import DATASET, METRICS
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.domain import HELD_OUT, domain_section
from sentence_distillery.reporting.headline import headline, rounded, sentence
from sentence_distillery.reporting.intervals import spearman_interval
from sentence_distillery.reporting.page import SECTIONS, growth
from sentence_distillery.reporting.sizes import read_pareto, sizes
from sentence_distillery.reporting.tables import result_tables
from stages import paths
from stages.reporting import paper_pages, report
from tests.workspace import ROOT, write_params

PAGES = ("index.html", "paper1.html", "paper2.html", "paper3.html")
VOID = {"meta", "link", "br", "hr", "img", "input"}
STUDENT, PAPER_STUDENT = (directory / "config.json" for directory in (paths.STUDENT, paths.PAPER_STUDENT))
SIMCSE = paper_pages.FILES["simcse"]
PAPER_STAGES = ("refine", "repulsion", "parse")
HOSTILE = '<script>alert("x")</script>'
SCORES = {"skip-gram": 0.3137, "refined": 0.3131, "student": 0.4098, "teacher": 0.5045}
REPULSION = """learning_rate,iteration,displacement,spearman
0.0001,0,0.0,0.31
0.0001,50,0.004,0.31
0.01,0,0.0,0.31
0.01,50,3.75,0.219
"""
SPEEDS = {"skip-gram": 56440.0, "refined": 61612.0, "student": 98038.0, "paper student": 77001.0, "teacher": 57.77}
PARETO = """system,kind,precision,dimension,megabytes,source,stsb/test/pearson,stsb/test/spearman
own,own,float32,256,47.76,,79.29,78.9
own,own,float32,128,24.24,,78.81,78.4
own,own,int8,128,6.59,,78.85,78.43
released,own,levels,160,15.42,,79.13,78.67
model2vec,peer,float32,256,47.76,,79.29,78.9
static-similarity-mrl-multilingual-v1,published,,,433.7,somewhere,80.89,79.94
"""


def scored(dataset: str, split: str = "test", n: int = 1225) -> list[Result]:
    """Made-up figures of all systems under all weightings."""
    figures = {"pearson": 0.1, "spearman": 0.0, "mae": 1.5}
    return [
        Result(system, dataset, split, protocol, metric, score + added + place / 100, n)
        for system, score in SCORES.items()
        for place, protocol in enumerate(("mean", "tf-idf", "sif", "dpcs", "dpcs+common"))
        for metric, added in figures.items()
    ]


def timed() -> list[Result]:
    return [Result(name, "corpus", "", "encode", "sentences_per_second", speed, 128) for name, speed in SPEEDS.items()]


def demo() -> list[Result]:
    words = [
        Result(system, "wordsim353", "test", "cosine", "spearman", 0.1544, 130) for system in ("skip-gram", "refined")
    ]
    return [*scored("lee"), *scored("samples", "dev", 62), *scored("samples", "test", 84), *words, *timed()]


def benchmark(kind: str, rows: dict[str, int], **overlaps: Any) -> dict[str, Any]:
    scale = [0, 5] if kind == "pairs" else None
    about = {"source": "somewhere", "licence": "CC0", "citation": "somebody", "main_metric": "spearman"}
    return {"kind": kind, **about, "rows": rows, "scale": scale, "overlaps": overlaps}


def write_json(path: Path, value: object) -> None:
    """Without the sync to disk of `sentence_distillery.io.artifacts`, which takes most of a test's time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_provenance(absent: dict[str, str], **more: dict[str, Any]) -> None:
    sets = {
        "lee": benchmark("pairs", {"test": 1225}),
        "wordsim353": benchmark("words", {"test": 353}),
        "samples": benchmark("pairs", {"dev": 62, "test": 84}, test={"other/test": {"sentences": 168, "pairs": 84}}),
    }
    write_json(report.PROVENANCE, {"sets": sets | more, "absent": absent})


def write_student(kind: str) -> None:
    teacher = {
        "reference": "package:mini",
        "dimension": 384,
        "pooling": "mean",
        "maximum_length": 128,
        "additional": [],
    }
    config = {"kind": kind, "dimension": 256, "token_dimension": 50, "vocabulary": 29763, "sentences": 2528}
    write_json(STUDENT, config | {"epochs": 2, "seed": 1, "teacher": teacher})
    columns = "epoch,loss\n1,0.35\n2,0.21\n" if kind == "paper" else "epoch,loss,cosine,relational\n1,1.04,0.5,1.8\n"
    (paths.CURVES / "student.csv").write_text(columns)
    (paths.CURVES / "student_size.csv").write_text("tokens,dimension,precision,megabytes,recall_at_10\n")


def write_examples(cosine: float | None = 0.25) -> None:
    """Before and after differ by 0.5 for the first pair; of its words, `a` has no vector."""
    words = [
        {"rows": ["a", "man"], "columns": ["meat", "a", HOSTILE], "cosines": [[None] * 3, [value, None, -0.75]]}
        for value in (0.125, 0.875)
    ]
    cosines = {"skip-gram": [cosine] * 6, "refined": [0.75] * 6, "student": [0.5] * 6, "newcomer": [None] * 6}
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


def write_corpus() -> None:
    """An overview of the corpus with hostile texts, and how well it is cleaned."""
    sums: dict[str, Any] = {"documents": 4321, "kept": 4320, "sentences": 9876, "words": 98765}
    overview: dict[str, Any] = {
        "sources": [{"name": HOSTILE} | sums, {"name": "daily"} | sums],
        "times": [{"name": "2024-05"} | sums, {"name": None} | sums],
        "growth": [[0, 0], [50_000, 9000], [98_765, 12_345]],
        "lines": [{"text": f"Read more {HOSTILE}", "count": 1234}],
        "near_duplicates": [{"dropped": f"A copy {HOSTILE}", "kept": "An original"}],
        "sentences": [{"reason": "", "text": f"Kept {HOSTILE}"}, {"reason": "symbols", "text": "1 2 3"}],
    }
    write_json(paths.CORPUS_OVERVIEW, overview)
    shutil.copy(ROOT / paths.CORPUS_QUALITY, paths.CORPUS_QUALITY)


def write_figures(rows: Sequence[Result]) -> None:
    """Write the figures of the main job's systems, and those of paper 1's."""
    of_paper = {system.name for system in SYSTEMS if system.paper}
    for path in (paths.RESULTS, paths.ALL_SYSTEMS):
        write_results(path, [row for row in rows if row.system not in of_paper])
    write_results(paths.PAPER1_RESULTS, [row for row in rows if row.system in of_paper])


def read_figures() -> list[Result]:
    """All figures of the run, with the paper's own."""
    rows = [*read_results(paths.PAPER1_RESULTS), *read_results(paths.ALL_SYSTEMS)]
    return [with_published(row) for row in rows]


def held_out(number: float | Unavailable = 0.5, seed: int | None = None, n: int = 128) -> list[Result]:
    """Figures of two encoders on held-out texts; the released one has a tenth less."""
    return [
        Result(system, "held-out texts", "", protocol, metric, value, n, seed=seed, low=low, high=high)
        for system, less in (("student", 0.0), ("released", 0.1))
        for protocol, metric in METRICS
        for value in [number if isinstance(number, Unavailable) else number - less]
        for low, high in [(None, None) if isinstance(value, Unavailable) else (value - 0.03125, value + 0.0625)]
    ]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All inputs of a demo run, small, in the current directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    paths.CURVES.mkdir(parents=True)
    (paths.CURVES / "refine.csv").write_text("iteration,mean_kl,displacement\n1,0.0179,0.0001\n2,0.0186,0.0043\n")
    (paths.CURVES / "paper_student.csv").write_text("epoch,loss,dev_spearman\n1,0.9,0.2\n2,0.8,0.3\n")
    (paths.CURVES / "repulsion.csv").write_text(REPULSION)
    write_student("static")
    write_provenance({})
    write_figures(demo())
    write_results(paths.DOMAIN, held_out())
    write_json(paths.SYSTEMS, {"student": "the encoder of the run"})
    write_json(paths.DRAWS, {"student/lee/spearman": [0.3, 0.4, 0.5]})
    write_json(SIMCSE, {"absent": None, "objective": "unsupervised", "base": "package:mini", "examples": 640})
    write_json(PAPER_STUDENT, json.loads(STUDENT.read_text()) | {"refined": "contrastive"})
    write_json(paths.PAPER1_GAINS, [])
    paths.PARETO.write_text(PARETO)
    write_examples()
    write_focus()
    write_paraphrase()
    write_corpus()
    counted: dict[str, Any] = {"unit": "rows", "total": 10, "kept": 7, "dropped": {"rare": 3, "never": 0}}
    counted |= {"details": {"benchmark": "lee/test", "development": "samples/dev", "training rows left out: imdb": 98}}
    counted["details"] |= {"sets": "samples, lee"}
    for name in (*report.STAGES, *PAPER_STAGES):
        write_json(paths.COUNTERS / f"{name}.json", counted)
    return tmp_path


def page() -> str:
    report.main()
    return paths.PAGE.read_text(encoding="utf-8")


def paper(key: str) -> str:
    """The page on a paper."""
    paper_pages.main()
    return (paths.REPORTS / f"{key}.html").read_text(encoding="utf-8")


class Outline(HTMLParser):
    """The text of a page by element, and whether each element is closed in the right place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def shown(result: Result) -> str:
    assert isinstance(result.value, float)
    if result.metric == "sentences_per_second":
        return f"{result.value:,.0f}"
    return f"{result.value:.3f}" if result.metric == "mae" else f"{result.value * 100:.2f}"


def check(text: str) -> Outline:
    """A page is balanced, has unique ids and answered anchors, names its charts and tables, and loads nothing."""
    outline = Outline(text)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in outline.tags:
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        if "href" in attributes:
            where, _, anchor = (attributes["href"] or "").partition("#")
            assert where in ("", *PAGES) and (
                anchor in {"index.html": SECTIONS}.get(where, ids) or (where and not anchor)
            )
        if tag == "svg" and attributes.get("role") == "img":
            assert attributes["aria-label"]
    assert text.count("<caption>") == text.count("<table>")
    assert "url(" not in text and "@import" not in text
    return outline


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


def test_every_value_is_on_the_page(workspace: Path) -> None:
    outline, of_paper = check(page()), check(paper("paper1"))
    for result in demo():
        assert shown(result) in of_paper.words or shown(result) in of_paper.text.split()
    for result in read_results(paths.RESULTS):
        assert shown(result) in outline.words or shown(result) in outline.text.split()
    assert (
        "The student keeps 81% of its teacher’s Spearman correlation on Lee-50 and encodes 1,700 times" in outline.text
    )
    assert "No claim can rest on these figures" in outline.text
    assert json.loads((paths.COUNTERS / "report.json").read_text())["kept"] == len(SECTIONS)


def test_held_out_texts_come_first(workspace: Path) -> None:
    assert HELD_OUT == DATASET
    outline = check(page())
    text = outline.text
    assert "held-out texts, the student finds 50.0% of those that its teacher puts among the ten nearest" in text
    assert (
        "held-out texts, the student finds 50% (95% interval 47% to 56%) of its teacher’s ten nearest texts and" in text
    )
    assert "(95% interval 46.9 to 56.2); chance would find 7.9%." in text
    assert "Agreement with the teacher 128 texts; ×100, with 95% intervals" in text
    assert "Recall@10 ×100. student: 50.0, 95% interval 46.9 to 56.2; released: 40.0, 95% interval 36.9" in page()
    sections = [dict(attributes).get("id") for tag, attributes in outline.tags if tag == "section"]
    assert sections[:3] == ["reading", "domain", "quality"]


def test_held_out_texts_over_seeds(workspace: Path) -> None:
    section = domain_section(held_out(), [held_out(0.6, 2), held_out(0.7, 3)])
    assert section.table is not None
    (_, student), (_, released) = section.table.lines
    assert (student[0].text, student[0].interval, student[0].spread) == ("50.0", "46.9 to 56.2", "10.0")
    assert [cell.best for cell in student] == [True] * 5 + [False] * 2
    assert not any(cell.best for cell in released)


def test_no_held_out_texts(workspace: Path) -> None:
    write_results(paths.DOMAIN, held_out(Unavailable("there are no held-out texts: held_out.share is 0"), n=0))
    text = check(page()).text
    assert "This run has no figures on held-out texts: there are no held-out texts: held_out.share is 0." in text
    assert "Agreement with the teacher" not in text


def test_too_few_held_out_texts_for_a_sentence(workspace: Path) -> None:
    rows = [
        replace(row, value=Unavailable("9 texts, but recall@10 needs 11")) if "10" in row.metric else row
        for row in held_out(n=9)
    ]
    write_results(paths.DOMAIN, rows)
    text = check(page()).text
    assert "too few to say how many of the teacher’s ten nearest texts the student finds" in text
    assert "9 texts, but recall@10 needs 11" in text


def test_own_labels(workspace: Path) -> None:
    own = [
        Result(system, HOSTILE, "test", "search", "ndcg_at_10", value, 30, low=value - 0.1, high=value + 0.1)
        for system, value in (("student", 0.75), ("released", 0.25))
    ]
    write_results(paths.DOMAIN, [*held_out(), *own])
    text = check(page()).text
    assert f"scored with your labels. {HOSTILE} 30 queries" in text
    assert "75.0 65.0 to 85.0" in text


def test_samples_stand_in_their_own_section_only(workspace: Path) -> None:
    before, after = page().split('<section id="samples"')
    assert "Samples test" not in before
    assert "Samples test" in after


def test_without_samples(workspace: Path) -> None:
    write_figures([result for result in demo() if result.dataset != "samples"])
    assert 'id="samples"' not in page()
    assert json.loads((paths.COUNTERS / "report.json").read_text())["dropped"] == {"no figures on the samples": 1}


def test_the_same_bytes_twice(workspace: Path) -> None:
    assert page() == page()


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


@pytest.mark.fault(25)
def test_rows_of_a_table_beside_the_paper(workspace: Path) -> None:
    """Each system of the paper has its row; a figure that is not here is a dash, not another system's."""
    write_figures(beside_paper())
    table = reproduction.tables(read_figures(), {"stsb": benchmark("pairs", {"test": 1379})})[0]
    (_, systems), (_, others) = table.blocks
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


def test_rows_tested_on_fewer_documents_say_so(workspace: Path) -> None:
    """A transformer that classified 500 reviews is in one table with systems that classified 25,000."""
    few = [Result("teacher", "imdb", "test", "sgd", metric, 0.7, 500) for metric in ("precision", "recall", "f1")]
    write_figures([*beside_paper(), *few])
    sets = {"stsb": benchmark("pairs", {"test": 1379}), "imdb": benchmark("documents", {"test": 25000})}
    *others, table = reproduction.tables(read_figures(), sets)
    (_, systems), (_, more) = table.blocks
    assert table.groups[-1][0] == "Rows"
    assert [dict(systems)["Word2Vec"][-1][0].text, dict(systems)["GloVe"][-1][0].text] == ["25,000", ""]
    assert dict(more)["teacher"][-1][0].text == "500"
    assert "Rows" not in [label for found in others for label, _ in found.groups]


def test_mymodel_and_a_calibrated_error(workspace: Path) -> None:
    """Paper 1's student is in its row and ours below; the calibrated error has a column without the paper's."""
    paper = [replace(result, system="paper student") for result in beside_paper() if result.system == "student"]
    calibrated = Result("student", "stsb", "test", "mean", "mae_calibrated", 0.7512, 1379)
    write_figures([*beside_paper(), *paper, calibrated])
    four, five, *_ = reproduction.tables(read_figures(), {"stsb": benchmark("pairs", {"test": 1379})})
    (_, systems), (_, others) = four.blocks
    assert dict(systems)["MyModel"][0][0].text == "50.98"
    assert [name for name, _ in others] == ["refined", "student", "teacher"]
    assert four.groups[-1][0] == "MAE calibrated 0–5" and len(five.groups) == 3
    assert [dict(others)[name][-1][0].text for name in ("student", "teacher")] == ["0.751", "—"]


def test_spread_over_seeds(workspace: Path) -> None:
    assert "Other seeds" not in check(page()).words
    write_params(seeds={"values": [2, 3]})
    word_vectors = Result("FastText", "lee", "test", "mean", "pearson", 0.3333, 1225)
    student = replace(word_vectors, system="student", value=0.4444)
    write_figures([*[row for row in demo() if (row.system, row.dataset) != ("student", "lee")], word_vectors, student])
    for seed, more in {2: 0.0123, 3: 0.0246}.items():
        rows = [replace(row, value=row.value + more) for row in (word_vectors, student)]  # type: ignore[operator]
        write_results(paths.SEEDS / f"{seed}.csv", rows)
    outline, of_paper = check(page()), check(paper("paper1"))
    assert {"45.67", "± 1.23", "Other seeds"} <= set(outline.words)
    assert {"45.67", "34.56", "± 1.23", "Other seeds"} <= set(of_paper.words)
    assert "standard deviation over 3 seeds" in outline.text


def test_no_headline_figures(workspace: Path) -> None:
    write_figures(
        [row for row in demo() if row.dataset == "wordsim353" or (row.dataset, row.system) == ("corpus", "student")]
    )
    text = check(page()).text
    assert "This run has no figure for both the student and its teacher." in text
    assert "This run scored no set of sentences." in text


@pytest.mark.parametrize(
    "path",
    [
        report.PROVENANCE,
        STUDENT,
        paths.PARETO,
        paths.RESULTS,
        paths.SYSTEMS,
        paths.CURVES / "student.csv",
        paths.CURVES / "student_size.csv",
        *(paths.COUNTERS / f"{name}.json" for name in report.STAGES),
    ],
    ids=str,
)
def test_a_missing_file_is_named(workspace: Path, path: Path) -> None:
    path.unlink()
    with pytest.raises(SystemExit, match=rf"report: {re.escape(str(path))} cannot be read"):
        report.main()
    assert not paths.PAGE.exists()


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [("epoch,loss\n", "it has no rows"), ("epoch,loss\n1,x\n", "'x'"), ("epoch,loss\n1\n", "fewer")],
)
def test_a_broken_curve(workspace: Path, text: str, reason: str) -> None:
    (paths.CURVES / "student.csv").write_text(text)
    with pytest.raises(SystemExit, match=rf"student\.csv cannot be read: .*{reason}"):
        report.main()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({("student", "stsb"): 0.8, ("teacher", "stsb"): 0.8}, "The student keeps 100% of its teacher’s"),
        (
            {("student", "stsb"): 0.9, ("teacher", "stsb"): 0.6},
            "The student has a Spearman correlation of 90.00 (95% interval 48.1 to 98.4) on STS-B test, its teacher",
        ),
        (
            {
                (system, name): value
                for system, value in (("student", 0.5), ("teacher", 1.0))
                for name in ("stsb", "sick")
            },
            "The student keeps 50% of its teacher’s Spearman correlation on STS-B test and 50% on SICK test.",
        ),
        ({("student", "stsb"): -0.1, ("teacher", "stsb"): 0.6}, "This run has no figure for both"),
        ({("student", "stsb"): 0.5}, "This run has no figure for both"),
    ],
)
def test_sentence(workspace: Path, rows: dict[tuple[str, str], float], expected: str) -> None:
    results = [Result(system, name, "test", "mean", "spearman", value, 9) for (system, name), value in rows.items()]
    write_figures(results)
    assert sentence(headline(read_results(paths.RESULTS), {})).startswith(expected)


def test_every_headline_figure_has_an_interval(workspace: Path) -> None:
    """The student's is that of its draws, which differs here from that of the number of pairs."""
    write_json(paths.DRAWS, {"student/lee/spearman": [0.1 + each / 1000 for each in range(1000)]})
    found = headline(read_results(paths.RESULTS), {}, {"student/lee/spearman": [0.1, 0.2, 0.3]})
    assert found.interval("student", 0) == pytest.approx((10.5, 29.5))
    assert found.interval("teacher", 0) == pytest.approx(
        tuple(100 * end for end in spearman_interval(0.5045, 1225) or ())
    )
    assert found.interval("nobody", 0) is None
    table = page().split("<caption><span><strong>Quality")[1].partition("</table>")[0]
    figures = re.findall(r'<td class="n">\d+\.\d\d\s+<small class="published">(.*?)</small>', table)
    assert len(figures) == 2 and all(re.fullmatch(r"\d+\.\d to \d+\.\d", each) for each in figures)
    assert "12.5 to 107.4" in table  # of the draws


def test_the_formula_agrees_with_the_bootstrap() -> None:
    """Of every encoder on both sets of rated pairs, within 0.4 points of 100, as its module says."""
    kept = read_results(ROOT / "reports/runs/suite/suite.csv")
    rows = [row for row in kept if row.dataset in ("stsb", "sick") and row.metric == "spearman" and row.low is not None]
    assert len(rows) > 10
    for row in rows:
        assert row.number is not None
        assert spearman_interval(row.number, row.n) == pytest.approx((row.low, row.high), abs=0.004)


@pytest.mark.parametrize(("value", "n"), [(1.0, 50), (-1.0, 50), (0.5, 3)])
def test_no_interval(value: float, n: int) -> None:
    assert spearman_interval(value, n) is None


def test_the_head_says_how_large_and_how_fast(workspace: Path) -> None:
    text = check(page()).text
    assert "6.0 MB" in text and "Speed, from another run" not in text
    head, *rows = PARETO.splitlines()
    timed = [f"{head},sentences_per_second", *(f"{row},{348_996.1 + place}" for place, row in enumerate(rows))]
    paths.PARETO.write_text("\n".join(timed) + "\n")
    assert "350,000 sentences a second with 256 dimensions" in page()


def test_sentence_of_speed_alone(workspace: Path) -> None:
    write_figures(timed())
    figures = headline(read_results(paths.RESULTS), {})
    assert sentence(figures) == "The student encodes 1,700 times as many sentences a second as its teacher."


def test_rounded() -> None:
    assert [rounded(value) for value in (1697.2, 3.42, 0.714, 20.0, 98765.0)] == [
        "1,700",
        "3.4",
        "0.71",
        "20",
        "99,000",
    ]


def test_ticks_enclose() -> None:
    assert charts.ticks(31, 50) == [30, 35, 40, 45, 50]
    assert charts.ticks(0, 0.0186, 3) == [0, 0.01, 0.02]
    assert charts.ticks(5, 5) == [5, 6]
    assert charts.ticks(0, 0) == [0, 0.2]
    assert charts.ticks(-0.3, 0.1)[0] <= -0.3


def test_no_label_covers_another_or_a_mark() -> None:
    """Of the kept figures, whose marks are close to each other; at the size of letters of a narrow page."""
    kept = sizes(read_pareto(ROOT / "reports/pareto.csv"))
    for chart in (kept["chart"], kept["speed"]):
        labels = [
            charts._label_box(mark.name, (mark.anchor, mark.label_x, mark.label_y), mark.ours) for mark in chart.marks
        ]
        marks = [(mark.x - 5, mark.y - 5, mark.x + 5, mark.y + 5) for mark in chart.marks]
        assert sum(charts._shared(label, mark) for label in labels for mark in marks) == 0
        assert sum(charts._shared(one, other) for one, other in combinations(labels, 2)) == 0


def test_scatter_of_one_system() -> None:
    chart = charts.scatter("Lee-50", {"student": (100.0, 40.0)})
    assert [tick.label for tick in chart.x_ticks] == ["100", "1,000"]
    assert chart.marks[0].x == charts.SCATTER.left
    assert "student: Spearman 40.0, 100 a second" in chart.alt


def test_labels_avoid_other_marks() -> None:
    """Both marks are in the right half; the label of the right one would cover the left one."""
    chart = charts.scatter("s", {"left": (20_000.0, 40.0), "right": (26_000.0, 40.1), "slow": (1.0, 60.0)})
    assert {mark.name: mark.anchor for mark in chart.marks} == {"left": "end", "right": "start", "slow": "start"}
    apart = charts.scatter("s", {"left": (20_000.0, 40.0), "right": (26_000.0, 55.0), "slow": (1.0, 60.0)})
    assert {mark.name: mark.anchor for mark in apart.marks} == {"left": "end", "right": "end", "slow": "start"}


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


def test_the_corpus(workspace: Path) -> None:
    """Sources, times, the vocabulary, texts to read and the quality of cleaning; a corpus of few words has no curve."""
    text = check(page()).text
    for expected in (
        *("98,765 words, 12,345 of them different", "By source", "By time", "no date 4,321 4,320 9,876 98,765"),
        *("thousand words", "symbols 1 2 3", f"Kept {HOSTILE}", f"Read more {HOSTILE} 1,234", "An original"),
        *("boilerplate lines sample clean", "sentence ends UD English EWT test sentencex 0.971 0.767 0.857 1223"),
    ):
        assert expected in text
    assert growth([[0, 0], [9, 8]]) is None


def test_other_metrics_make_another_table() -> None:
    """Protocols of one set share a table if they have the same metrics; a classifier's stands apart."""
    rows = [
        Result(system, "stsb", "test", protocol, metric, 0.5, 9)
        for system in ("student", "teacher")
        for protocol, metrics in {
            "mean": ("pearson", "spearman"),
            "sif": ("pearson", "spearman"),
            "head": ("f1",),
        }.items()
        for metric in metrics
    ]
    found = result_tables(rows, {})
    assert [[label for label, _ in table.groups] for table in found] == [["Mean", "SIF"], ["head"]]
    assert all([name for name, _ in lines] == ["student", "teacher"] for table in found for _, lines in table.blocks)
