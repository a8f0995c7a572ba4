"""The sets of classification, clustering, retrieval, reranking and pair classification in a few rows each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentence_distillery.evaluation.sets import registry
from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Sources
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.records import Document, Judgement, Pair, Passage, Query
from sentence_distillery.io.counters import Counters
from tests.sentence_distillery.evaluation.sets.conftest import pins

STORM, DOG, BANK = "The storm closed the port.", "A dog plays with a ball.", "The bank raised its rates."
GALE, CAT, LOAN = "A gale shut the harbour.", "Two cats play with a toy.", "Loans cost more interest."

FILES: dict[str, dict[str, str]] = {
    "banking77": {
        "train.csv": "text,category\n"
        + f"{BANK},exchange_rate\n{DOG},card_arrival\n{LOAN},exchange_rate\nA cat plays.,card_arrival\n" * 3,
        "test.csv": f'text,category\n"{LOAN}",exchange_rate\n"{CAT}",card_arrival\n',
    },
    "trec": {"TREC.train.all": f"1 {STORM}\n0 {DOG}\n1 {GALE}\n", "TREC.test.all": f"1 {GALE}\n0 {CAT}\n"},
    "tweet_emotion": {
        "train_text.txt": f"{STORM}\n{DOG}\n",
        "train_labels.txt": "0\n1\n",
        "val_text.txt": f"{CAT}\n",
        "val_labels.txt": "1\n",
        "test_text.txt": f"{GALE}\n{CAT}\n",
        "test_labels.txt": "0\n1\n",
    },
    "stackoverflow": {
        "title_StackOverflow.txt": "".join(f"{text}\n" for text in (STORM, GALE, DOG, CAT, BANK, LOAN)),
        "label_StackOverflow.txt": "1\n1\n2\n2\n20\n20\n",
    },
    "scifact": {
        "corpus.jsonl": "".join(
            f'{{"_id": "{number}", "title": "", "text": "{text}"}}\n' for number, text in enumerate((STORM, DOG, BANK))
        ),
        "queries.jsonl": f'{{"_id": "7", "text": "{GALE}"}}\n{{"_id": "8", "text": "{CAT}", "metadata": {{}}}}\n',
        "qrels-train.tsv": "query-id\tcorpus-id\tscore\n8\t1\t1\n",
        "qrels-test.tsv": "query-id\tcorpus-id\tscore\n7\t0\t1\n",
    },
    "nfcorpus": {
        "dev.titles.queries": f"P-1\t{CAT}\n",
        "dev.docs": f"M-1\t{DOG}\nM-2\t{BANK}",  # the real files also end without a line end
        "dev.3-2-1.qrel": "P-1\t0\tM-1\t3\n",
        "test.titles.queries": f"P-2\t{GALE}\n",
        "test.docs": f"M-2\t{BANK}\nM-3\t{STORM}",
        "test.3-2-1.qrel": "P-2\t0\tM-3\t2\nP-2\t0\tM-2\t1",
    },
    "cranfield": {
        "cran.all.1400": f".I 1\r\n.T\r\na title\r\n.A\r\nwho\r\n.W\r\n{STORM}\r\n  it blew .\r\n.I 2\r\n.W\r\n",
        "cran.qry": f".I 001\r\n.W\r\n{GALE}\r\n.I 004\r\n.W\r\n{CAT}\r\n",
        "cranqrel": "1 1 3 \r\n2 1 -1\r\n",
    },
    "wikiqa": {
        "id.txt": "4\n4\n9\n9\n",
        "a.toks": f"{GALE}\n{GALE}\n{CAT}\n{CAT}\n",
        "b.toks": f"{STORM}\n{DOG}\n{BANK}\n{DOG}\n",
        "sim.txt": "1\n0\n0\n1\n",
    },
    "twitter_url": {"a.toks": f"{STORM}\n{DOG}\n{BANK}\n", "b.toks": f"{GALE}\n{CAT}\n{DOG}\n", "sim.txt": "1\n1\n0\n"},
}
PARTS = {"rows": Document | Pair | Query, "passages": Passage, "judgements": Judgement}


def shrink(monkeypatch: pytest.MonkeyPatch, name: str, directory: Path) -> None:
    """Write a small set, and expect its checksums and its numbers of rows in the place of the published ones."""
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in FILES[name].items():
        (directory / file).write_bytes(text.encode())
    benchmark = registry.BENCHMARKS[name]
    [spec] = benchmark.tables
    rows = list(spec.read(directory))
    counts = {part: Counter(row.split for row in rows if isinstance(row, kinds)) for part, kinds in PARTS.items()}
    small: Any = replace(spec, **counts)  # type: ignore[arg-type]
    monkeypatch.setitem(registry.BENCHMARKS, name, replace(benchmark, tables=(small,), pins=pins(FILES[name])))


def written(monkeypatch: pytest.MonkeyPatch, directory: Path, names: Sequence[str]) -> BenchmarkData:
    """Write small sets as the stage `benchmarks` does."""
    for name in names:
        shrink(monkeypatch, name, directory / "external" / name)
    sources = Sources(directory / "external", directory / "samples")
    write_benchmarks(names, sources, directory / "benchmarks", Counters("rows"))
    return BenchmarkData(directory / "benchmarks")
