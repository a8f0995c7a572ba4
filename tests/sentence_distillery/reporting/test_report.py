"""The report stage: the content of the page, and its validity as HTML."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

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
from stages.reporting import report
from tests.workspace import ROOT, write_params

PAGES = ("index.html", "paper1.html", "paper2.html", "paper3.html")
VOID = {"meta", "link", "br", "hr", "img", "input"}
STUDENT = paths.STUDENT / "config.json"
HOSTILE = '<script>alert("x")</script>'
SCORES = {"skip-gram": 0.3137, "refined": 0.3131, "student": 0.4098, "teacher": 0.5045}
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


def write_student() -> None:
    teacher = {"reference": "package:mini", "dimension": 384, "pooling": "mean", "maximum_length": 128}
    config = {"kind": "static", "dimension": 256, "token_dimension": 50, "vocabulary": 29763, "sentences": 2528}
    write_json(STUDENT, config | {"epochs": 2, "seed": 1, "teacher": teacher | {"additional": []}})
    (paths.CURVES / "student.csv").write_text("epoch,loss,cosine,relational\n1,1.04,0.5,1.8\n")
    (paths.CURVES / "student_size.csv").write_text("tokens,dimension,precision,megabytes,recall_at_10\n")


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
    write_student()
    write_provenance({})
    write_figures(demo())
    write_results(paths.DOMAIN, held_out())
    write_json(paths.SYSTEMS, {"student": "the encoder of the run"})
    write_json(paths.DRAWS, {"student/lee/spearman": [0.3, 0.4, 0.5]})
    paths.PARETO.write_text(PARETO)
    write_corpus()
    counted: dict[str, Any] = {"unit": "rows", "total": 10, "kept": 7, "dropped": {"rare": 3, "never": 0}}
    counted |= {"details": {"benchmark": "lee/test", "development": "samples/dev", "training rows left out: imdb": 98}}
    counted["details"] |= {"sets": "samples, lee"}
    for name in report.STAGES:
        write_json(paths.COUNTERS / f"{name}.json", counted)
    return tmp_path


def page() -> str:
    report.main()
    return paths.PAGE.read_text(encoding="utf-8")


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


def test_every_value_is_on_the_page(workspace: Path) -> None:
    outline = check(page())
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
    found = "held-out texts, the student finds"
    for expected in (
        f"{found} 50.0% of those that its teacher puts among the ten nearest",
        f"{found} 50% (95% interval 47% to 56%) of its teacher’s ten nearest texts and",
        "(95% interval 46.9 to 56.2); chance would find 7.9%.",
        "Agreement with the teacher 128 texts; ×100, with 95% intervals",
    ):
        assert expected in outline.text
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


NONE = held_out(Unavailable("there are no held-out texts: held_out.share is 0"), n=0)
FEW = [
    replace(row, value=Unavailable("9 texts, but recall@10 needs 11")) if "10" in row.metric else row
    for row in held_out(n=9)
]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (NONE, "This run has no figures on held-out texts: there are no held-out texts: held_out.share is 0."),
        (FEW, "too few to say how many of the teacher’s ten nearest texts the student finds"),
        (FEW, "9 texts, but recall@10 needs 11"),
    ],
)
def test_too_few_held_out_texts(workspace: Path, rows: list[Result], said: str) -> None:
    write_results(paths.DOMAIN, rows)
    text = check(page()).text
    assert said in text and ("Agreement with the teacher" in text) == (rows is FEW)


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
    write_figures([result for result in demo() if result.dataset != "samples"])
    assert 'id="samples"' not in page()
    assert json.loads((paths.COUNTERS / "report.json").read_text())["dropped"] == {"no figures on the samples": 1}


def test_the_same_bytes_twice(workspace: Path) -> None:
    assert page() == page()


def test_spread_over_seeds(workspace: Path) -> None:
    assert "Other seeds" not in check(page()).words
    write_params(seeds={"values": [2, 3]})
    word_vectors = Result("FastText", "lee", "test", "mean", "pearson", 0.3333, 1225)
    student = replace(word_vectors, system="student", value=0.4444)
    write_figures([*[row for row in demo() if (row.system, row.dataset) != ("student", "lee")], word_vectors, student])
    for seed, more in {2: 0.0123, 3: 0.0246}.items():
        rows = [replace(row, value=row.value + more) for row in (word_vectors, student)]  # type: ignore[operator]
        write_results(paths.SEEDS / f"{seed}.csv", rows)
    outline = check(page())
    assert {"45.67", "± 1.23", "Other seeds"} <= set(outline.words)
    assert "standard deviation over 3 seeds" in outline.text


def test_no_headline_figures(workspace: Path) -> None:
    write_figures(
        [row for row in demo() if row.dataset == "wordsim353" or (row in timed() and row.system == "student")]
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


def test_a_curve_without_points(workspace: Path) -> None:
    (paths.CURVES / "student.csv").write_text("epoch,loss\n")
    with pytest.raises(SystemExit, match=r"student\.csv cannot be read: .*it has no rows"):
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
            {("student", "stsb"): 0.5, ("teacher", "stsb"): 1.0, ("student", "sick"): 0.5, ("teacher", "sick"): 1.0},
            "The student keeps 50% of its teacher’s Spearman correlation on STS-B test and 50% on SICK test.",
        ),
        ({("student", "stsb"): -0.1, ("teacher", "stsb"): 0.6}, "This run has no figure for both"),
        ({("student", "stsb"): 0.5}, "This run has no figure for both"),
        ({}, "The student encodes 1,700 times as many sentences a second as its teacher."),
    ],
)
def test_sentence(rows: dict[tuple[str, str], float], expected: str) -> None:
    results = [Result(system, name, "test", "mean", "spearman", value, 9) for (system, name), value in rows.items()]
    assert sentence(headline(results or timed(), {})).startswith(expected)
    assert [rounded(value) for value in (3.42, 0.714, 20.0)] == ["3.4", "0.71", "20"]


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
    assert [spearman_interval(value, n) for value, n in ((1.0, 50), (-1.0, 50), (0.5, 3))] == [None] * 3


def test_the_head_says_how_large_and_how_fast(workspace: Path) -> None:
    text = check(page()).text
    assert "6.0 MB" in text and "Speed, from another run" not in text
    head, *rows = PARETO.splitlines()
    timed = [f"{head},sentences_per_second", *(f"{row},{348_996.1 + place}" for place, row in enumerate(rows))]
    paths.PARETO.write_text("\n".join(timed) + "\n")
    assert "350,000 sentences a second with 256 dimensions" in page()


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


def test_labels_avoid_other_marks() -> None:
    """Both marks are in the right half; the label of the right one would cover the left one."""
    alone = charts.scatter("Lee-50", {"student": (100.0, 40.0)})
    assert [tick.label for tick in alone.x_ticks] == ["100", "1,000"]
    assert alone.marks[0].x == charts.SCATTER.left
    assert "student: Spearman 40.0, 100 a second" in alone.alt
    chart = charts.scatter("s", {"left": (20_000.0, 40.0), "right": (26_000.0, 40.1), "slow": (1.0, 60.0)})
    assert {mark.name: mark.anchor for mark in chart.marks} == {"left": "end", "right": "start", "slow": "start"}
    apart = charts.scatter("s", {"left": (20_000.0, 40.0), "right": (26_000.0, 55.0), "slow": (1.0, 60.0)})
    assert {mark.name: mark.anchor for mark in apart.marks} == {"left": "end", "right": "end", "slow": "start"}


def test_the_corpus(workspace: Path) -> None:
    """Sources, times, the vocabulary, texts to read and the quality of cleaning; a corpus of few words has no curve."""
    text = check(page()).text
    expected = ["98,765 words, 12,345 of them different", "By source", "By time", "no date 4,321 4,320 9,876 98,765"]
    expected += ["thousand words", "symbols 1 2 3", f"Kept {HOSTILE}", f"Read more {HOSTILE} 1,234", "An original"]
    expected += ["boilerplate lines sample clean", "UD English EWT test sentencex 0.971 0.767 0.857 1223"]
    assert [each for each in expected if each not in text] == []
    assert growth([[0, 0], [9, 8]]) is None


def test_other_metrics_make_another_table() -> None:
    """Protocols of one set share a table if they have the same metrics; a classifier's stands apart."""
    rows = [
        Result(system, "stsb", "test", protocol, metric, 0.5, 9)
        for system in ("student", "teacher")
        for protocol, metric in [*product(("mean", "sif"), ("pearson", "spearman")), ("head", "f1")]
    ]
    found = result_tables([*rows, Result("student", "mine", "test", "sgd", "f1", 0.5, 9)], {})
    assert found.pop().caption == "mine test"  # of one row
    assert [[label for label, _ in table.groups] for table in found] == [["Mean", "SIF"], ["head"]]
    assert all([name for name, _ in lines] == ["student", "teacher"] for table in found for _, lines in table.blocks)
