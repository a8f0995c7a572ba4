"""Write the tables of the documentation from the figures that are kept in git: `make figures`.

A page asks for a table by a mark, and everything between the two marks is written:

    <!-- figures: comparison -->
    | encoder | ...
    <!-- end of figures -->

A figure in a sentence stands between such marks, too: `<!-- figure: released speed -->580,000<!-- end -->`. Such a mark
never begins a line, where Markdown would take it for a paragraph.
`--check` writes nothing, and fails if a page or the chart differs from what would be written.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from docsite import kept, paper1_tables, paper2_tables, paper3_best, paper3_tables
from docsite.cells import NONE, grid
from docsite.chart import chart
from docsite.kept import ROOT, Run, published, record, run, size
from sentence_distillery.benchmarks.registry import SUITE
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.reporting.intervals import spearman_interval
from sentence_distillery.reporting.publish import comment_of, table
from sentence_distillery.reporting.tables import label

CHART = ROOT / "docs/images/quality.svg"
TABLE = re.compile(
    r"(?<!`)(<!-- figures: (?P<name>[\w -]+) -->)(?:(?!<!-- figures:).)*?(<!-- end of figures -->)", re.S
)
FIGURE = re.compile(r"(?<!`)(<!-- figure: (?P<name>[\w -]+) -->).*?(<!-- end -->)")
LABELLED = ("full", "accuracy")
TEST_PAIRS = {"stsb": 1379, "sick": 4927}  # behind each correlation of a test split
DOMAIN_FIGURES = {
    "recall@1": ("neighbours", "recall_at_1"),
    "recall@10": ("neighbours", "recall_at_10"),
    "near pairs": ("near pairs", "spearman"),
    "words cut": ("words", "words_cut"),
}


def pages() -> Iterator[Path]:
    """Yield every page that may ask for figures."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def with_figures(text: str) -> str:
    """Return a page with its tables and figures as they are now.

    Raises:
        InputError: If the page asks for an unknown table or figure, or the figures are not there.
    """
    text = TABLE.sub(lambda mark: "\n".join([mark[1], *_named(TABLES, mark["name"])(), mark[3]]), text)
    return FIGURE.sub(lambda mark: mark[1] + _named(FIGURES, mark["name"])() + mark[3], text)


Writer = TypeVar("Writer")


def _named(known: dict[str, Writer], name: str) -> Writer:
    if name not in known:
        raise InputError(f"A page asks for figures '{name}'; known ones are {', '.join(known)}.")
    return known[name]


# --- Cells ---


def _one(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return NONE
    return f"{value:.1f}" if spread is None else f"{value:.1f} ± {spread:.1f}"


def _two(first: float | None, second: float | None) -> str:
    return NONE if first is None or second is None else f"{first:.1f} / {second:.1f}"


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _hundred(text: str | None) -> float | None:
    return 100 * float(text) if text else None


# --- The comparison with peers ---


def comparison() -> list[str]:
    """Our encoders, their peers, the teacher and a word search on public sets."""
    peers = run("suite/suite")
    place = ", ".join(peers.about.split("; ")[2:4])  # its date and its machine
    head = ["encoder", "MB", "STS-B", "SICK-R", "SciFact", "sentences/s"]
    own = [
        _measured("**released**, 160 dimensions", peers, "released", size("released")),
        _measured(
            "**released-search**, 288 dimensions",
            peers,
            "released-search",
            {"megabytes": "14.53", "sentences_per_second": ""},
        ),
        _sized("student of `best`, 256 dimensions, 8 bits", size("own", "int8", 256)),
        _sized("the same, 64 dimensions, 8 bits", size("own", "int8", 64)),
    ]
    others = [
        _measured("WordLlama 256", peers, "WordLlama", {"megabytes": "16.4", "sentences_per_second": ""}),
        _published("potion-base-32M"),
        _published("static-retrieval-mrl-en-v1"),
        _published("static-similarity-mrl-multilingual-v1"),
        _sized("GloVe, mean of 50 dimensions", size("GloVe")),
        ["BM25, a word search", NONE, NONE, NONE, _search(peers, "BM25"), NONE],
        _sized(
            "all-MiniLM-L6-v2, the teacher", size("teacher"), peers.value("teacher", "scifact", "search", "ndcg_at_10")
        ),
    ]
    return [
        *grid(head, own + others),
        "",
        "STS-B and SICK-R: Pearson / Spearman × 100 of the cosines with human ratings, test split. SciFact: "
        "nDCG@10 × 100 among 5,183 abstracts. † Published by others, with their source in "
        "[reports/published.csv](reports/published.csv). "
        f"The rest is measured by `python -m benchmarks.suite FROM` ({place}), or by `make pareto` (student, GloVe, "
        "teacher, speed; two cores). "
        "A dash means that this project has no such figure.",
        "",
        "In brackets is the 95 % interval of Spearman and of nDCG@10. It comes from 2,000 draws of the test pairs or "
        "queries if `benchmarks.suite` measured the encoder, and otherwise from the number of pairs (Bonett and Wright "
        "2000). Published figures of SciFact have no interval, since their queries' figures are not published. "
        "[The results](docs/reference/results.md) have more sets.",
    ]


def intervals() -> list[str]:
    """Each encoder's figure and 95 % interval on the sets of pairs with ratings and of searches."""
    found = run("suite/suite")
    columns = [(name, kind) for kind in KINDS if kind.title in ("STS", "retrieval") for name in kind.sets]
    rows = [
        [system, *(_within(found, system, name, kind.protocol, kind.metric) for name, kind in columns)]
        for system in dict.fromkeys(key[0] for key in found.rows)
    ]
    return grid(["encoder", *(label(name) for name, _ in columns)], rows)


def _within(found: Run, *figure: str) -> str:
    value, ends = found.value(*figure), found.interval(*figure)
    return NONE if value is None or ends is None else f"{value:.1f} [{ends[0]:.1f}, {ends[1]:.1f}]"


def suite() -> list[str]:
    """Each encoder's mean over the sets of each kind of task."""
    found = run("suite/suite")
    head = ["encoder", *(kind.title for kind in KINDS), "mean of kinds"]
    rows = []
    for system in dict.fromkeys(key[0] for key in found.rows):
        values = [kind.mean(found, system) for kind in KINDS]
        known = [value for value in values if value is not None]
        rows.append([system, *map(_one, values), _one(sum(known) / len(known) if len(known) == len(values) else None)])
    return [*grid(head, rows), "", f"{found.about}"]


@dataclass(frozen=True)
class Kind:
    """A kind of task: the column's title, its sets, and their main figure."""

    title: str
    sets: tuple[str, ...]
    protocol: str
    metric: str

    def mean(self, run: Run, system: str) -> float | None:
        """Return the mean over the sets, None if one of them has no figure."""
        values = [run.value(system, name, self.protocol, self.metric) for name in self.sets]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == len(values) else None


KINDS = (
    Kind("STS", SUITE["similarity"], "mean", "spearman"),
    Kind("pairs", SUITE["pair classification"], "cosine", "ap"),
    Kind("few-shot classification", SUITE["classification"], "few-shot", "accuracy"),
    Kind("all examples", SUITE["classification"], "full", "accuracy"),
    Kind("clustering", SUITE["clustering"], "k-means", "v_measure"),
    Kind("retrieval", SUITE["retrieval"], "search", "ndcg_at_10"),
)


def _measured(title: str, peers: Run, system: str, row: dict[str, str]) -> list[str]:
    pairs = [_pair(peers, system, dataset) for dataset in ("stsb", "sick")]
    return [title, _megabytes(row), *pairs, _search(peers, system), _rate(row)]


def _search(peers: Run, system: str) -> str:
    figure = (system, "scifact", "search", "ndcg_at_10")
    return _one(peers.value(*figure)) + _ends(peers.interval(*figure))


def _pair(run: Run, system: str, dataset: str) -> str:
    figures = [run.value(system, dataset, "mean", metric) for metric in ("pearson", "spearman")]
    return _two(*figures) + _ends(run.interval(system, dataset, "mean", "spearman"))


def _ends(ends: tuple[float, float] | None) -> str:
    """Show an interval on a line of its own."""
    return "" if ends is None else f"<br>[{ends[0]:.1f}, {ends[1]:.1f}]"


def _bounded(dataset: str, pearson: float | None, spearman: float | None) -> str:
    """Show two correlations, and the interval of the second by the number of test pairs."""
    ends = None if spearman is None else spearman_interval(spearman / 100, TEST_PAIRS[dataset])
    return _two(pearson, spearman) + _ends(None if ends is None else (100 * ends[0], 100 * ends[1]))


def _sized(title: str, row: dict[str, str], search: float | None = None) -> list[str]:
    figures = (
        _bounded(dataset, *(_number(row[f"{dataset}/test/{metric}"]) for metric in ("pearson", "spearman")))
        for dataset in TEST_PAIRS
    )
    return [title, _megabytes(row), *figures, _one(search), _rate(row)]


def _published(system: str) -> list[str]:
    row = published(system)
    figures = (
        _bounded(dataset, *(_hundred(row.get(f"{dataset}/{metric}")) for metric in ("pearson", "spearman")))
        for dataset in TEST_PAIRS
    )
    return [f"{system} †", _megabytes(row), *figures, _one(_hundred(row.get("scifact/ndcg_at_10"))), NONE]


def _megabytes(row: dict[str, str]) -> str:
    value = float(row["megabytes"])
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _rate(row: dict[str, str]) -> str:
    """Show two digits of a speed: more depend on the machine's mood."""
    value = _number(row.get("sentences_per_second"))
    return NONE if value is None else rounded(value)


def rounded(value: float) -> str:
    """Round to two digits.

    >>> rounded(580_102.1), rounded(316.1)
    ('580,000', '320')
    """
    step = 10 ** max(0, len(str(int(value))) - 2)
    return f"{round(value / step) * step:,}"


# --- Runs, sizes, speed, domains, probes ---


def runs() -> list[str]:
    """Every full run that is kept: each system on each test set."""
    lines: list[str] = []
    for path in sorted((kept.REPORTS / "runs").glob("*.csv")):
        lines += [f"`{path.stem}` ({comment_of(path)}):", "", *table(path), ""]
    return lines[:-1]


def seeds() -> list[str]:
    """Mean and standard deviation over five trainings on STS-B."""
    best = run("best", several_seeds=True)
    systems = [system for system, dataset, protocol, metric in best.rows if (dataset, protocol) == ("stsb", "mean")]
    rows = [
        [system, *(_spread(best, system, metric) for metric in ("pearson", "spearman"))]
        for system in dict.fromkeys(systems)
        if best.spread(system, "stsb", "mean", "pearson") is not None
    ]
    return grid(["system", "STS-B test, Pearson", "Spearman"], rows)


def _spread(best: Run, system: str, metric: str) -> str:
    value, spread = (each(system, "stsb", "mean", metric) for each in (best.value, best.spread))
    return NONE if value is None or spread is None else f"{value:.2f} ± {spread:.2f}"


def sizes() -> list[str]:
    """The student of `best` in every size."""
    rows = [
        [row["precision"], row["dimension"], _megabytes(row), *_sized("", row)[2:4], _rate(row)]
        for row in kept.table("pareto")
        if row["system"] in ("own", "released")
    ]
    head = ["precision", "dimension", "MB", "STS-B test", "SICK-R test", "sentences/s"]
    return [*grid(head, rows), "", "Pearson / Spearman × 100. `make pareto`; `levels` is the released encoder."]


def speed() -> list[str]:
    """Texts a second of the same table in several libraries."""
    bench = record("bench")
    names = {"own": "this library", "own int8": "this library, 8 bits", "own MLP head": "this library, MLP head"}
    long = bench["documents_per_second"]
    rows = [
        [
            names.get(name, name),
            *(rounded(row[each]) for each in ("median", "slowest", "fastest")),
            _times(row),
            rounded(long[name]["median"]) if name in long else NONE,
            _times(long[name]) if name in long else NONE,
        ]
        for name, row in bench["sentences_per_second"].items()
    ]
    about, stream, load = bench["machine"], bench["stream"], bench["load_milliseconds"]
    heads = ["what encodes", "sentences/s", "slowest", "fastest", "own is faster", "documents/s", "own is faster"]
    return [
        *grid(heads, rows),
        "",
        f"{bench['sentences']:,} sentences of {bench['mean_characters']:.0f} characters and {bench['documents']:,} "
        f"documents of {bench['mean_characters_of_documents']:,.0f}, {bench['dimension']} dimensions, medians of "
        f"{bench['runs']} runs in turns, {about['cores']} cores of {about['processor']}: `make bench`. A stream of "
        f"{stream['sentences']:,} sentences took {stream['mb_after_a_tenth']:.0f} MB after a tenth and "
        f"{stream['mb_at_the_end']:.0f} MB at the end. In a fresh process the imports take {load['import']:.0f} ms, "
        f"loading {load['load']:.0f} ms and the first vector {load['first_vector']:.0f} ms.",
    ]


def _times(row: dict[str, float]) -> str:
    """Show how many times as fast this library is."""
    return f"{row['own_is_times_as_fast']:.1f} times"


def _domain(name: str, titles: dict[str, str], labels: dict[str, tuple[str, str, str]]) -> list[str]:
    """Return the figures of a domain: those without labels, then those on labels."""
    found = run(f"domains/{name}", several_seeds=True)
    columns = {title: ("held-out texts", *place) for title, place in DOMAIN_FIGURES.items()} | labels
    rows = [
        [title, *(_one(found.value(system, *place), found.spread(system, *place)) for place in columns.values())]
        for system, title in titles.items()
    ]
    return [
        *grid(["encoder", *columns], rows),
        "",
        f"× 100, ± over the seeds. `python -m benchmarks.domains FROM`; {found.about}.",
    ]


def banking77() -> list[str]:
    """Questions of a bank's customers."""
    titles = {
        "student": "student of the questions",
        "student from released": "the same, started from the released encoder",
        "tokenlearn": "tokenlearn on the same soft labels",
        "released": "the released encoder",
        "model2vec": "model2vec of the same teacher",
    }
    labels = {
        "77 intents": ("intents", *LABELLED),
        "the same, C chosen": ("intents", "full_tuned", "accuracy"),
        "STS-B": ("stsb", "mean", "spearman"),
    }
    return _domain("banking77", titles, labels)


def medical() -> list[str]:
    """Abstracts of medical papers."""
    titles = {
        "student": "student of the abstracts",
        "student from released": "the same, started from the released encoder",
        "tokenlearn": "tokenlearn on the same soft labels",
        "released": "the released encoder",
        "model2vec": "model2vec",
    }
    search = ("search", "ndcg_at_10")
    labels = {"NFCorpus": ("nfcorpus", *search), "SciFact": ("scifact", *search)}
    return _domain("medical", titles, labels | {"STS-B": ("stsb", "mean", "spearman")})


def probes() -> list[str]:
    """The pairs that an encoder cannot tell apart."""
    summary = record("probes")["summary"]
    kinds = [kind for kind in summary["student"] if kind not in ("paper 1", "all but control")]
    rows = [
        [
            kind,
            str(summary["student"][kind]["n"]),
            *(_share(summary[system][kind]) for system in ("student", "teacher")),
        ]
        for kind in kinds
    ]
    return [
        *grid(["what differs", "probes", "student", "teacher"], rows),
        "",
        "Share of probes in per cent in which the paraphrase is nearer than a sentence of nearly the same words and "
        "another meaning. `python -m stages.evaluation.probes`, 64 probes of `data/samples/probes.csv`.",
    ]


def _share(row: dict[str, float]) -> str:
    return f"{100 * row['passed']:.0f}"


def _domain_figure(domain: str, system: str, *place: str) -> str:
    found = run(f"domains/{domain}", several_seeds=True)
    dataset, protocol, metric = place
    return _one(found.value(system, dataset, protocol, metric), found.spread(system, dataset, protocol, metric))


TABLES: dict[str, Callable[[], list[str]]] = {
    "comparison": comparison,
    "runs": runs,
    "seeds": seeds,
    "sizes": sizes,
    "speed": speed,
    "banking77": banking77,
    "medical": medical,
    "probes": probes,
    "suite": suite,
    "intervals": intervals,
    **paper1_tables.TABLES,
    **paper2_tables.TABLES,
    **paper3_tables.TABLES,
    "focus best": paper3_best.focus_best,
}
FIGURES: dict[str, Callable[[], str]] = {
    "released speed": lambda: _rate(size("released")),
    "released megabytes": lambda: _megabytes(size("released")),
    "teacher speed": lambda: _rate(size("teacher")),
    "scifact student": lambda: _domain_figure("medical", "student", "scifact", "search", "ndcg_at_10"),
    "scifact released": lambda: _domain_figure("medical", "released", "scifact", "search", "ndcg_at_10"),
    "scifact model2vec": lambda: _domain_figure("medical", "model2vec", "scifact", "search", "ndcg_at_10"),
    "times model2vec": lambda: f"{record('bench')['sentences_per_second']['model2vec']['own_is_times_as_fast']:.0f}",
}


def changed() -> Iterator[tuple[Path, str]]:
    """Yield each file that differs from its figures, and its new content."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        try:
            new = with_figures(text)
        except InputError as error:
            raise InputError(f"{path.relative_to(ROOT)}: {error}") from error
        if new != text:
            yield path, new
    drawn = chart()
    if not CHART.exists() or CHART.read_text(encoding="utf-8") != drawn:
        yield CHART, drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the figures of the documentation from kept runs.")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a page differs")
    options = parser.parse_args()
    try:
        different = list(changed())
    except InputError as error:
        sys.exit(f"figures: {error}")
    names = ", ".join(path.relative_to(ROOT).as_posix() for path, _ in different)
    if options.check and different:
        sys.exit(f"figures: {names} differ from the kept figures; run `make figures`.")
    for path, text in different if not options.check else ():
        with atomic_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    print(f"figures: {names or 'nothing'} {'written' if different else 'changed'}")


if __name__ == "__main__":
    main()
