"""A workspace as the stages find it: params.yaml of the demo profile and a small corpus of real news sentences."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from gensim.test.utils import datapath

from sentence_distillery.io.artifacts import write_table
from stages.paths import SENTENCES
from tests.workspace import write_params as write_params

STOP_WORDS = {"the", "a", "an", "of", "to", "in", "and", "is", "are", "was", "on", "for", "that", "it", "by", "at"}
REPULSION = {"objective": "repulsion", "iterations": 3, "sentences": 200}
SCHEMA = pa.schema(
    [
        ("document", pa.int64()),
        ("position", pa.int32()),
        ("text", pa.string()),
        ("tokens", pa.list_(pa.string())),
        ("content_tokens", pa.list_(pa.string())),
    ]
)


def write_corpus(documents: Sequence[str], part: int = 0) -> None:
    """Write `documents`, whose sentences end with a full stop, as one part of the corpus."""
    rows = [
        (number, position, text.strip(), re.findall(r"\w+", text.lower()))
        for number, document in enumerate(documents)
        for position, text in enumerate(document.split("."))
        if text.strip()
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    content = [[word for word in tokens if word not in STOP_WORDS] for tokens in columns[3]]
    write_table(SENTENCES / f"part-{part:05d}.parquet", pa.table([*columns, content], schema=SCHEMA))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory: 60 Lee documents in two parts, 2 epochs, 3 iterations of repulsion."""
    monkeypatch.chdir(tmp_path)
    write_params(skipgram={"epochs": 2}, refine=REPULSION)
    documents = Path(datapath("lee_background.cor")).read_text(encoding="utf-8").splitlines()
    write_corpus(documents[:30], part=0)
    write_corpus(documents[30:60], part=1)
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)
