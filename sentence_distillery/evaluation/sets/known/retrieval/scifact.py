"""SciFact: claims, and the abstracts that support or refute them."""

import json
from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import (
    EVERY_SPLIT,
    BadDataError,
    Judgement,
    Passage,
    Query,
    lines,
    records,
    whole,
)

SPLITS = ("train", "test")


def read(directory: Path) -> Iterator[Query | Passage | Judgement]:
    """Read BEIR's layout; a document is its title and its text, a query is of the split that judges it."""
    for place, entry in entries(directory / "corpus.jsonl", ("_id", "title", "text")):
        yield Passage(place, EVERY_SPLIT, entry["_id"], f"{entry['title']} {entry['text']}".strip())
    split_of: dict[str, str] = {}
    for split in SPLITS:
        for place, row in records(directory / f"qrels-{split}.tsv", ("query-id", "corpus-id", "score"), "\t"):
            split_of[row["query-id"]] = split
            yield Judgement(place, split, row["query-id"], row["corpus-id"], whole(row["score"], place))
    for place, entry in entries(directory / "queries.jsonl", ("_id", "text")):
        yield Query(place, split_of.get(entry["_id"], "none"), entry["_id"], entry["text"])


def entries(path: Path, fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, text by field) for each line of JSON; raises BadDataError for one that lacks a field."""
    for place, line in lines(path):
        try:
            entry = json.loads(line)
            yield place, {field: str(entry[field]) for field in fields}
        except (ValueError, KeyError, TypeError) as error:
            raise BadDataError(f"{place}: not a JSON object with the fields {', '.join(fields)}.") from error


SET = Benchmark(
    name="scifact",
    title="SciFact",
    source="SciFact (Wadden et al. 2020) with all 5,183 abstracts, in the layout and the splits of BEIR",
    licence="claims CC BY 4.0, abstracts ODC-By",
    citation="Wadden et al. 2020, Fact or fiction: verifying scientific claims, EMNLP",
    origin="external",
    files=("corpus.jsonl", "queries.jsonl", "qrels-train.tsv", "qrels-test.tsv"),
    pins=pinned(
        ("corpus.jsonl", None, "6f1d1fdc28317d8c61a8b69d3610b10f97d450687b1974c9b02aae0c7349f94f"),
        ("queries.jsonl", None, "21a70458954ee3ada1875570da4835dc4bf5619f2e2e38c14a665e97e9059f9d"),
        ("qrels-train.tsv", None, "4da2bae808e23316834044eb14db1674f9496190e49a57693f6f13b23d428272"),
        ("qrels-test.tsv", None, "18a49075af697c9bcdb3cf7b3618a12b32be0697a7e15f10a07de09d914d59b2"),
    ),
    tables=(
        Table(
            "scifact",
            "queries",
            read,
            {"train": 809, "test": 300},
            main_metric="ndcg_at_10",
            task="retrieval",
            trainable=False,
            passages={EVERY_SPLIT: 5183},
            judgements={"train": 919, "test": 339},
        ),
    ),
)
