"""Full runs, their seeds, speed, students of a domain, and probes."""

from collections.abc import Callable
from functools import partial

from docsite import kept
from docsite.kept import Run, record, run
from reproductions.docs.tables.cells import NONE, grid, one, rounded
from reproductions.docs.tables.settings import settings
from sentence_distillery.reporting.publish import comment_of, table

LABELLED = ("full", "accuracy")
STSB = {"STS-B": ("stsb", "mean", "spearman")}
OTHERS = {
    "student from released": "the same, started from the released encoder",
    "tokenlearn": "tokenlearn on the same soft labels",
    "released": "the released encoder",
}
DOMAIN_FIGURES = {
    "recall@1": ("neighbours", "recall_at_1"),
    "recall@10": ("neighbours", "recall_at_10"),
    "near pairs": ("near pairs", "spearman"),
    "words cut": ("words", "words_cut"),
}


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


def speed() -> list[str]:
    """Texts a second of the same table in several libraries."""
    bench = record("bench")
    names = {"own": "this library", "own MLP head": "this library, MLP head"}
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
    narrow = bench["narrow"]
    own = [narrow[each]["own"]["median"] for each in ("sentences_per_second", "documents_per_second")]
    peer = [narrow[each]["model2vec"] for each in ("sentences_per_second", "documents_per_second")]
    heads = ["what encodes", "sentences/s", "slowest", "fastest", "own is faster", "documents/s", "own is faster"]
    return [
        *grid(heads, rows),
        "",
        f"{bench['sentences']:,} sentences of {bench['mean_characters']:.0f} characters and {bench['documents']:,} "
        f"documents of {bench['mean_characters_of_documents']:,.0f}, {bench['dimension']} dimensions, medians of "
        f"{bench['runs']} runs in turns, {about['cores']} cores of {about['processor']}: `make bench`. The process "
        "keeps memory that is freed. With the first "
        f"{narrow['dimension']} dimensions (`load(truncate_dim={narrow['dimension']})`) this library encodes "
        f"{rounded(own[0])} sentences and {rounded(own[1])} documents a second, {_times(peer[0])} and "
        f"{_times(peer[1])} as many as model2vec. A stream of "
        f"{stream['sentences']:,} sentences took {stream['mb_after_a_tenth']:.0f} MB after a tenth and "
        f"{stream['mb_at_the_end']:.0f} MB at the end. In a fresh process the imports take {load['import']:.0f} ms, "
        f"loading {load['load']:.0f} ms and the first vector {load['first_vector']:.0f} ms.",
    ]


def kinds() -> list[str]:
    """Texts a second on one core, by the kind of text."""
    found = record("kinds")
    rows = [
        [
            name,
            rounded(row["mean_characters"]),
            f"{100 * row['ascii']:.0f} %",
            rounded(row["own"]),
            rounded(row["model2vec"]),
            f"{row['times']:.0f} times",
            rounded(row["own for search"]),
            f"{row['times_for_search']:.0f} times",
        ]
        for name, row in found["kinds"].items()
    ]
    heads = ["kind of text", "characters", "all ASCII", "texts/s", "model2vec", "faster", "for search", "faster"]
    one, first = found["one_text_microseconds"], found["texts_per_second_of_the_first_call"]
    return [
        *grid(heads, rows),
        "",
        f"Geometric mean {found['geometric_mean']:.0f} times, for search {found['geometric_mean_for_search']:.0f}. One "
        f"core of {found['machine']['processor']} and one process each, the same table, seconds of the processor, the "
        f"fastest of {found['runs']} runs in turns: `python -m measurements.kinds`, a part of `make bench`. Each text "
        f"is new to an encoder that has read others of its kind; if it has met them, the geometric mean is "
        f"{found['geometric_mean_again']:.0f} times. A call "
        f"with one short text takes {one['own']:.1f} µs, for search {one['own for search']:.1f} µs, in model2vec "
        f"{one['model2vec']:.0f} µs. The first call after loading reads {rounded(first['first'])} bank questions a "
        f"second, the second one {rounded(first['second'])}.",
    ]


def _times(row: dict[str, float]) -> str:
    """Show how many times as fast this library is."""
    return f"{row['own_is_times_as_fast']:.1f} times"


def _domain(name: str, titles: dict[str, str], labels: dict[str, tuple[str, str, str]]) -> list[str]:
    """Return the figures of a domain: those without labels, then those on labels."""
    found = run(f"domains/{name}", several_seeds=True)
    columns = {title: ("held-out texts", *place) for title, place in DOMAIN_FIGURES.items()} | labels
    rows = [
        [title, *(one(found.value(system, *place), found.spread(system, *place)) for place in columns.values())]
        for system, title in titles.items()
    ]
    return [
        *grid(["encoder", *columns], rows),
        "",
        f"× 100, ± over the seeds. `python -m measurements.domains FROM`; {found.about}.",
    ]


def banking77() -> list[str]:
    """Questions of a bank's customers."""
    titles = {"student": "student of the questions", **OTHERS, "model2vec": "model2vec of the same teacher"}
    labels = {"77 intents": ("intents", *LABELLED), "the same, C chosen": ("intents", "full_tuned", "accuracy")}
    return _domain("banking77", titles, labels | STSB)


def medical() -> list[str]:
    """Abstracts of medical papers."""
    titles = {"student": "student of the abstracts", **OTHERS, "model2vec": "model2vec"}
    search = ("search", "ndcg_at_10")
    labels = {"NFCorpus": ("nfcorpus", *search), "SciFact": ("scifact", *search)}
    return _domain("medical", titles, labels | STSB)


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
        "another meaning. `python -m measurements.probes`, 64 probes of `data/samples/probes.csv`.",
    ]


def _share(row: dict[str, float]) -> str:
    return f"{100 * row['passed']:.0f}"


def domain_figure(domain: str, system: str, *place: str) -> str:
    found = run(f"domains/{domain}", several_seeds=True)
    dataset, protocol, metric = place
    return one(found.value(system, dataset, protocol, metric), found.spread(system, dataset, protocol, metric))


TABLES: dict[str, Callable[[], list[str]]] = {
    "runs": runs,
    "seeds": seeds,
    "speed": speed,
    "kinds": kinds,
    "banking77": banking77,
    "medical": medical,
    "languages": partial(settings, "domains/manpages", "language, pieces", digits=1, compared=False),
    "probes": probes,
}
