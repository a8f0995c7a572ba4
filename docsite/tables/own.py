"""Seeds, speed, students of a domain, and probes."""

from collections.abc import Callable
from functools import partial
from statistics import mean

from docsite.saved import record, run
from reproductions.docs.tables.cells import NONE, grid, one, rounded
from reproductions.docs.tables.rows import matching, source

STSB = {"STS-B": ("stsb", "mean", "spearman")}
OTHERS = {
    "student from released": "the same, started from the released encoder",
    "tokenlearn": "tokenlearn on the same soft labels",
    "released": "the released encoder, without its lexical channel",
}
DOMAIN_FIGURES = {
    "recall@1": ("neighbours", "recall_at_1"),
    "recall@10": ("neighbours", "recall_at_10"),
    "near pairs": ("near pairs", "spearman"),
    "words cut": ("words", "words_cut"),
}


def seeds() -> list[str]:
    """Mean and standard deviation over five trainings on STS-B."""
    best = run("best", several_seeds=True)
    systems = dict.fromkeys(key[0] for key, row in best.rows.items() if key[1:3] == ("stsb", "mean") and row.seeds > 1)
    rows = []
    for system in systems:
        figures = [(system, "stsb", "mean", metric) for metric in ("pearson", "spearman")]
        rows.append([system, *(one(best.value(*each), best.spread(*each), 2) for each in figures)])
    return [*grid(["system", "STS-B test, Pearson", "Spearman"], rows), "", source("best")]


def rate(name: str) -> str:
    """Show two digits of the sentences a second of a system of `make bench`: more depend on the machine's mood."""
    return rounded(record("bench")["sentences_per_second"][name]["median"])


def speed() -> list[str]:
    """Texts a second of the same table in several libraries."""
    bench = record("bench")
    names = {"own": "this library", "own MLP head": "this library, MLP head"}
    short, long = bench["sentences_per_second"], bench["documents_per_second"]
    rows = []
    for name, row in short.items():
        rates = (rounded(row[each]) for each in ("median", "slowest", "fastest"))
        times = (f"{each[name]['own_is_times_as_fast']:.1f} times" if name in each else NONE for each in (short, long))
        documents = rounded(long[name]["median"]) if name in long else NONE
        rows.append([names.get(name, name), *rates, next(times), documents, next(times)])
    machine, stream, load = bench["machine"], bench["stream"], bench["load_milliseconds"]
    heads = ["what encodes", "sentences/s", "slowest", "fastest", "own is faster", "documents/s", "own is faster"]
    return [
        *grid(heads, rows),
        "",
        f"{bench['sentences']:,} sentences of {bench['mean_characters']:.0f} characters and {bench['documents']:,} "
        f"documents of {bench['mean_characters_of_documents']:,.0f}, {bench['dimension']} dimensions, medians of "
        f"{bench['runs']} runs in turns, {machine['cores']} cores of {machine['processor']}, {machine['date']}: "
        f"`make bench`. A stream of {stream['sentences']:,} sentences took {stream['mb_after_a_tenth']:.0f} MB after a "
        f"tenth and {stream['mb_at_the_end']:.0f} MB at the end. In a fresh process the import takes "
        f"{load['import']:.2g} ms, loading {load['load']:.0f} ms and the first vector {load['first_vector']:.2g} ms.",
    ]


FIRST_CALL = "texts_per_second_of_the_first_call"
KIND = ("mean_characters", "own", "model2vec", "own for search")


def kinds() -> list[str]:
    """Texts a second on one core, by the kind of text."""
    found = record("kinds")
    rows = []
    for name, row in found["kinds"].items():
        characters, own, peer, search = map(rounded, (row[key] for key in KIND))
        times, for_search = (f"{row[key]:.0f} times" for key in ("times", "times_for_search"))
        rows.append([name, characters, f"{100 * row['ascii']:.0f} %", own, peer, times, search, for_search])
    heads = ["kind of text", "characters", "all ASCII", "texts/s", "model2vec", "faster", "for search", "faster"]
    single, first, machine = (found[key] for key in ("one_text_microseconds", FIRST_CALL, "machine"))
    return [
        *grid(heads, rows),
        "",
        f"Geometric mean {found['geometric_mean']:.0f} times, for search {found['geometric_mean_for_search']:.0f}. One "
        f"core of {machine['processor']}, {machine['date']}, one process each, the same table, seconds of the "
        f"processor, the fastest of {found['runs']} runs in turns: `python -m measurements.kinds`, a part of `make "
        f"bench`. Each text is new to an encoder that has read others of its kind; if it has met them, the geometric "
        f"mean is {found['geometric_mean_again']:.0f} times. A call with one short text takes {single['own']:.1f} µs, "
        f"for search {single['own for search']:.1f} µs, in model2vec {single['model2vec']:.0f} µs. The first call "
        f"after loading reads {rounded(first['first'])} bank questions a second, the second one "
        f"{rounded(first['second'])}.",
    ]


def domain(name: str, texts: str, labels: dict[str, tuple[str, str, str]]) -> list[str]:
    """Return the figures of a domain: those without labels, then those on labels."""
    titles = {"student": f"student of the {texts}", **OTHERS, "model2vec": "model2vec of the same teacher"}
    found = run(f"domains/{name}", several_seeds=True)
    columns = {title: ("held-out texts", *place) for title, place in DOMAIN_FIGURES.items()} | labels | STSB
    rows = [
        [title, *(one(found.value(system, *place), found.spread(system, *place)) for place in columns.values())]
        for system, title in titles.items()
    ]
    about = f"× 100, ± over the seeds. `python -m measurements.domains FROM`; {found.about}."
    return [*grid(["encoder", *columns], rows), "", about]


BANKING77 = {"77 intents": ("intents", "full", "accuracy"), "the same, C chosen": ("intents", "full_tuned", "accuracy")}
MEDICAL = {name: (name.lower(), "search", "ndcg_at_10") for name in ("NFCorpus", "SciFact")}


def probes() -> list[str]:
    """The pairs that an encoder cannot distinguish."""
    both = [record("probes")["summary"][system] for system in ("student", "teacher")]
    rows = [
        [kind, str(row["n"]), *(f"{100 * each[kind]['passed']:.0f}" for each in both)]
        for kind, row in both[0].items()
        if kind not in ("paper 1", "all but control")
    ]
    about = (
        "Share of probes in per cent in which the paraphrase is nearer than a sentence of nearly the same words and "
        "another meaning. `python -m measurements.probes`, 64 probes of `data/samples/probes.csv`."
    )
    return [*grid(["what differs", "probes", "student", "teacher"], rows), "", about]


def scifact(system: str) -> str:
    """The figure on SciFact of an encoder of the medical domain."""
    found, figure = run("domains/medical", several_seeds=True), (system, *MEDICAL["SciFact"])
    return one(found.value(*figure), found.spread(*figure))


def scifact_queries() -> str:
    """Half the width of the student's 95 % interval over SciFact's queries, in points, the mean of the seeds."""
    rows = matching("domains/medical", system="student", dataset="scifact", metric="ndcg_at_10")
    return f"{mean(50 * (row.high - row.low) for row in rows if row.low is not None and row.high is not None):.1f}"


def in_the_browser() -> str:
    """Return the least and the greatest factor by which our file is faster than transformers.js."""
    kinds = record("browser_bench")["kinds"].values()
    times = [kind["own"]["fastest"] / kind["transformers"]["fastest"] for kind in kinds]
    return f"{min(times):.0f} to {max(times):.0f}"


TABLES: dict[str, Callable[[], list[str]]] = {
    "seeds": seeds,
    "speed": speed,
    "kinds": kinds,
    "banking77": partial(domain, "banking77", "questions", BANKING77),
    "medical": partial(domain, "medical", "abstracts", MEDICAL),
    "probes": probes,
}
