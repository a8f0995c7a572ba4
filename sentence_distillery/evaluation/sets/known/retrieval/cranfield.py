"""Cranfield 1400: questions of aerodynamicists, and abstracts.

A document is the field .W, which begins with the title; two documents have no text. Queries are counted 1, 2, ... in
the order of the file, whatever their .I says. Every judgement counts as grade 1: their codes 1 (a complete answer) to 4
(minimum interest) are read in both directions by others, and the code -1, of one document a query, has no explanation.
The set's usual number of 1,837 relevant documents includes these.
"""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import BadDataError, Judgement, Passage, Query, lines

HOME = f"{GITHUB}/noramtboraas/information-retrieval/4ea1b8e02da1db64b68b0364d50620b3c95528dc"
CODES = ("-1", "1", "2", "3", "4")


def read(directory: Path) -> Iterator[Query | Passage | Judgement]:
    """Read the SMART fields of queries and documents, and judgements of query, document and code."""
    for number, (place, _, text) in enumerate(entries(directory / "cran.qry"), start=1):
        yield Query(place, "test", str(number), text)
    for place, name, text in entries(directory / "cran.all.1400"):
        yield Passage(place, "test", name, text)
    for place, line in lines(directory / "cranqrel"):
        match line.split():
            case [query, document, code] if code in CODES:
                yield Judgement(place, "test", query, document, 1)
            case _:
                raise BadDataError(f"{place}: {line!r} is not a query, a document and a code of {', '.join(CODES)}.")


def entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (place, .I, .W) of each entry; raises BadDataError for an entry that has no .W."""
    found: list[tuple[str, str, list[str]]] = []
    for place, line in lines(path):
        if line.startswith(".I"):
            found.append((place, line.removeprefix(".I").strip(), []))
        elif not found:
            raise BadDataError(f"{place}: {line!r} comes before the first field .I.")
        else:
            found[-1][2].append(line.strip())
    for place, name, body in found:
        if ".W" not in body:
            raise BadDataError(f"{place}: entry {name} has no field .W.")
        yield place, name, " ".join(filter(None, body[body.index(".W") + 1 :]))


SET = Benchmark(
    name="cranfield",
    title="Cranfield",
    source="Cranfield 1400 (Cleverdon 1967)",
    licence="none stated",
    citation="Cleverdon 1967, The Cranfield tests on index language devices, Aslib Proceedings 19(6)",
    origin="external",
    files=("cran.all.1400", "cran.qry", "cranqrel"),
    pins=pinned(
        ("cran.all.1400", HOME, "fbb8935a93263ab6c9fadefb507fd7cd5e101e7fbeb31c12e6bff6dd501315e8"),
        ("cran.qry", HOME, "99578ceb88941ef89c14faf7c63c23776a376d8fba319b990f01d0c601d8b03f"),
        ("cranqrel", HOME, "a90f56082cd44db70bf2c21ebca39a1a34e37c82ccb5ddf1bcc64f18795234c7"),
    ),
    tables=(
        Table(
            "cranfield",
            "queries",
            read,
            {"test": 225},
            main_metric="ndcg_at_10",
            task="retrieval",
            trainable=False,
            passages={"test": 1400},
            judgements={"test": 1837},
        ),
    ),
)
