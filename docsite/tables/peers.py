"""Our encoders compared with others on public sets."""

import re
from collections.abc import Callable
from typing import NamedTuple

from docsite.saved import ROOT, FigureTable, published, run, size
from docsite.tables.sizes import TEST_PAIRS, correlations, ends_of, megabytes, sized
from measurements import entailment
from measurements.peers import PEERS
from reproductions.docs.tables.cells import NONE, grid, one, two
from sentence_distillery.evaluation.sets.registry import SUITE
from sentence_distillery.reporting.tables import label


class Kind(NamedTuple):
    """A kind of task: the column's title, its sets, and their main figure."""

    title: str
    sets: tuple[str, ...]
    protocol: str
    metric: str

    def mean(self, run: FigureTable, system: str) -> float | None:
        """Return the mean over the sets, None if one of them has no figure."""
        return _mean([run.value(system, name, self.protocol, self.metric) for name in self.sets])


def _mean(values: list[float | None]) -> float | None:
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
FURTHER = (
    Kind("IMDB", ("imdb",), "full", "accuracy"),
    Kind("SICK-E", (entailment.SET,), entailment.PROTOCOL, entailment.METRIC),
)


SHORT = ("**released", "WordLlama", "potion", "static-similarity", "TF-IDF", "BM25", "all-MiniLM")
COMPARED = ("teacher", "model2vec", "WordLlama", "TF-IDF", "BM25")
HEAD = ["encoder", "MB", "STS-B", "SICK-R", "SciFact"]
FORMER = "0.3.0"  # the version whose encoders reports/runs/suite/suite.csv calls the former ones
SCIFACT = ("scifact", "search", "ndcg_at_10")
MEASURED = (
    "STS-B and SICK-R: Pearson / Spearman × 100 of the cosines with human ratings, test split. SciFact: nDCG@10 × 100 "
    "among 5,183 abstracts. In brackets: the 95 % interval of Spearman and of nDCG@10. † Published by others. A dash: "
    "no such figure. "
)


def comparison() -> list[str]:
    """Our two encoders, some peers, word searches and the teacher on public sets."""
    rows = [row for row in _rows(run("suite/suite")) if row[0].startswith(SHORT)]
    link = "[More encoders, and how they were measured](docs/reference/results.md#compared-with-other-encoders)."
    return [*grid(HEAD, rows), "", MEASURED + link]


def all_compared() -> list[str]:
    """Our encoders in all sizes, their peers, word searches and the teacher on the same sets."""
    peers = run("suite/suite")
    dates, machine = peers.about.split("; ")[2:4]
    place = f"{dates.partition(',')[0]}, {machine}"  # the first date is that of the encoders here
    about = (
        f"The rest is measured by `python -m measurements.suite FROM` ({place}), or by `make pareto` (student, "
        "teacher). An interval comes from 2,000 draws of the test pairs or queries if "
        "`measurements.suite` measured the encoder, and otherwise from the number of pairs (Bonett and Wright 2000)."
    )
    published = "† `reports/published.csv` has the source."
    return [*grid(HEAD, _rows(peers)), "", f"{MEASURED}{published} {about}"]


def _rows(peers: FigureTable) -> list[list[str]]:
    search = size("released-search")
    own = [
        _measured("**released**, 256 dimensions, in a search 1,024", peers, "released", size("released")),
        _measured("the same, its first 160 dimensions", peers, "released at 160", size("released", None, 160)),
        _measured("**released-search**, 1,024 dimensions", peers, "released-search", search),
        _measured("the same, 2,304 dimensions", peers, "released-search at 2304", search),
        sized("student of `best`, 256 dimensions, 8 bits", size("own", "int8", 256)),
        sized("the same, 64 dimensions, 8 bits", size("own", "int8", 64)),
    ]
    others = [
        _measured("WordLlama 256", peers, "WordLlama", {"megabytes": "16.4"}),
        _published("potion-base-32M"),
        _published("static-retrieval-mrl-en-v1"),
        _published("static-similarity-mrl-multilingual-v1"),
        _measured("GloVe, mean of all words, 50 dimensions", peers, "GloVe", size("GloVe")),
        ["TF-IDF", NONE, *(_pair(peers, "TF-IDF", dataset) for dataset in TEST_PAIRS), _search(peers, "TF-IDF")],
        ["BM25, a word search", NONE, NONE, NONE, _search(peers, "BM25")],
        sized("all-MiniLM-L6-v2, the teacher", size("teacher"), _search(peers, "teacher")),
    ]
    return own + others


def differences() -> list[str]:
    """What our two encoders have more than each other one, with the interval, on pairs with ratings and searches."""
    found = run("suite/differences")
    columns = [(name, kind) for kind in KINDS if kind.title in ("STS", "retrieval") for name in kind.sets]
    names = [key[0] for key in found.rows if key[0].startswith(("released - ", "released-search - "))]
    rows = []
    for name in dict.fromkeys(names):
        if name.rpartition(" - ")[2] in COMPARED:
            cells = (_within(found, name, dataset, kind.protocol, kind.metric) for dataset, kind in columns)
            rows.append([name.replace(" - ", " − "), *cells])
    about = "Points of Spearman × 100 and of nDCG@10 × 100. In brackets: the 95 % interval, 2,000 draws."
    return [*grid(["difference", *(label(name) for name, _ in columns)], rows), "", about]


def _within(found: FigureTable, *figure: str) -> str:
    value, ends = found.value(*figure), found.interval(*figure)
    return NONE if value is None or ends is None else f"{value:.1f}<br>[{ends[0]:.1f}, {ends[1]:.1f}]".replace("-", "−")


def suite() -> list[str]:
    """Each encoder's mean over the sets of each kind of task, and its figures on two sets that are in no kind."""
    found = run("suite/suite")
    rows = []
    for system in dict.fromkeys(key[0] for key in found.rows):
        values = [kind.mean(found, system) for kind in KINDS]
        values += [_mean(values), *(kind.mean(found, system) for kind in FURTHER)]
        rows.append([system.replace(", former", f" of {FORMER}"), *map(one, values)])
    head = ["encoder", *(kind.title for kind in KINDS), "mean of kinds", *(kind.title for kind in FURTHER)]
    return [*grid(head, rows), "", _source(found)]


def near_copies() -> list[str]:
    """Encoders on test pairs without a near copy of a sentence in the training text, and on those with one."""
    found = run("suite/near-copies")
    systems = list(dict.fromkeys(key[0] for key in found.rows))
    rows = []
    for _, dataset, protocol, metric in [key for key in found.rows if key[0] == systems[0]]:
        kind, index = protocol.split(", ")
        pairs = f"{found.rows[systems[0], dataset, protocol, metric].n:,}"
        figures = [(system, dataset, protocol, metric) for system in systems]
        cells = [one(found.value(*figure)) + ends_of(found.interval(*figure)) for figure in figures]
        rows.append([label(dataset), f"{'below' if kind == 'without' else 'from'} {index}", pairs, *cells])
    head = ["set", "greatest Jaccard index of a pair's sentences", "pairs", *systems]
    return [*grid(head, rows), "", _source(found)]


def _source(found: FigureTable) -> str:
    return "; ".join(found.about.split("; ")[:4]).replace("former encoders", f"encoders of {FORMER}") + "."


def scifact(system: str) -> str:
    """The figure of an encoder on SciFact."""
    return one(run("suite/suite").value(system, *SCIFACT))


def versions() -> str:
    """The versions of the encoders that packages carry, by the lock files."""
    files = (ROOT / f"requirements{part}.lock" for part in ("", "-peers"))
    locks = "".join(file.read_text(encoding="utf-8") for file in files)
    pinned = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", locks, re.MULTILINE))
    packages = dict.fromkeys(package.lower() for peer in PEERS.values() for package in peer.packages)
    return ", ".join(f"{package} {pinned[package]}" for package in packages)


def _measured(title: str, peers: FigureTable, system: str, row: dict[str, str]) -> list[str]:
    pairs = [_pair(peers, system, dataset) for dataset in ("stsb", "sick")]
    return [title, megabytes(row), *pairs, _search(peers, system)]


def _search(peers: FigureTable, system: str) -> str:
    return one(peers.value(system, *SCIFACT)) + ends_of(peers.interval(system, *SCIFACT))


def _pair(run: FigureTable, system: str, dataset: str) -> str:
    figures = [run.value(system, dataset, "mean", metric) for metric in ("pearson", "spearman")]
    return two(*figures) + ends_of(run.interval(system, dataset, "mean", "spearman"))


def _published(system: str) -> list[str]:
    row = published(system)
    found = {key: 100 * float(row[key]) for key in row if "/" in key}
    both = ([found.get(f"{dataset}/{metric}") for metric in ("pearson", "spearman")] for dataset in TEST_PAIRS)
    figures = (correlations(dataset, *pair) for dataset, pair in zip(TEST_PAIRS, both, strict=True))
    return [f"{system} †", megabytes(row), *figures, one(found.get("scifact/ndcg_at_10"))]


TABLES: dict[str, Callable[[], list[str]]] = {
    "comparison": comparison,
    "comparison of all": all_compared,
    "suite": suite,
    "differences": differences,
    "near copies": near_copies,
}
