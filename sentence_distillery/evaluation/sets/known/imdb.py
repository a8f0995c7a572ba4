"""ACL IMDB: sentiment of film reviews."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sentence_distillery.evaluation.sets.benchmark import BINARY, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document
from sentence_distillery.io.artifacts import read_table

SCHEMA = pa.schema([("label", pa.int8()), ("text", pa.string())])


def read(directory: Path) -> Iterator[Document]:
    """Read reviews with the label 1 for a positive one, 0 for a negative one; the unlabelled part is left out."""
    for split in ("train", "test"):
        path = directory / f"imdb_{split}.parquet"
        table = read_table(path, SCHEMA)
        rows = zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)
        for row, (text, label) in enumerate(rows, start=1):
            yield Document(f"{path}, row {row}", split, text or "", str(label))


SET = Benchmark(
    name="imdb",
    title="IMDB",
    source="ACL IMDB v1.0 (Maas et al. 2011)",
    licence="none stated",
    citation="Maas et al. 2011, Learning word vectors for sentiment analysis, ACL",
    origin="external",
    files=("imdb_train.parquet", "imdb_test.parquet"),
    pins=pinned(
        ("imdb_train.parquet", None, "2b359b4e57801a13ebbabe8f03c3d8b9d9151104bb8e5614ffe11515907ee080"),
        ("imdb_test.parquet", None, "962a8b6594956eec5d135695c68065b9ca18cf29bbcaeec93edb53fe4483446d"),
        ("imdb_unsup.parquet", None, "80619d9ee1eb404c482ead294af8f75953491fed648b7d4ddbfdb07f5b535c75"),
    ),
    tables=(
        Table(
            "imdb",
            "documents",
            read,
            {"train": 25000, "test": 25000},
            None,
            BINARY,
            "accuracy",
            task="classification",
            protocols=("sgd",),
        ),
    ),
)
