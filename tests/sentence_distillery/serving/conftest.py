"""A real server: `sentence-distillery explore` in a process of its own, on a free port."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser

from sentence_distillery import load
from sentence_distillery.distillation.label_files import embedding_column, soft_label_schema
from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.io.artifacts import write_json, write_table
from sentence_distillery.serving.collection import SENTENCES, SOFT_LABELS
from sentence_distillery.serving.server import KEY
from tests.look import chromium
from tests.waiting import LIMIT

TEXTS = [
    "The storm closed the port.",
    "A gale shut the harbour.",
    "Shares fell in London.",
    "The stock market dropped sharply.",
    "A dog runs on the beach.",
    "<b>The court</b> rejected the appeal.",
]
SECRET = "correct-horse-battery"


@dataclass(frozen=True)
class Server:
    """A running server: its process, the address that it printed, and host and port."""

    process: "subprocess.Popen[str]"
    link: str

    @property
    def host(self) -> str:
        return self.link.split("/")[2]

    @property
    def address(self) -> str:
        return f"http://{self.host}"


@contextmanager
def exploring(*arguments: object, key: str | None = None) -> Iterator[Server]:
    """Run `explore` until the block ends; an interrupt stops it without an error."""
    command = [sys.executable, "-m", "sentence_distillery.cli", "explore", *map(str, arguments), "--port", "0"]
    environment = os.environ | ({} if key is None else {KEY: key})
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    with process.stdout as output:
        link = output.readline().strip()
        assert link.startswith("http://127.0.0.1:"), process.poll()
        yield Server(process, link)
        process.terminate()
        process.wait(LIMIT)


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explored") / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def working_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `distill --working-directory` keeps, in two parts; the teacher is the student with its dimensions turned."""
    directory = tmp_path_factory.mktemp("working")
    vectors = load().encode(TEXTS)[:, ::-1]
    for number, rows in enumerate((range(4), range(4, len(TEXTS)))):
        count = len(rows)
        columns = [pa.array(np.array(rows)), pa.array(np.zeros(count, np.int32)), [TEXTS[row] for row in rows]]
        name = f"part-{number:05d}.parquet"
        write_table(directory / SENTENCES / name, pa.table(columns, names=["document", "position", "text"]))
        labels = [pa.array(np.array(rows) << 20), embedding_column(vectors[list(rows)])]
        write_table(directory / SOFT_LABELS / name, pa.table(labels, schema=soft_label_schema(vectors.shape[1])))
    teacher = {"reference": "tiny", "pooling": "mean", "maximum_length": 32, "dimension": vectors.shape[1]}
    write_json(directory / SOFT_LABELS / TEACHER, teacher)
    return directory


@pytest.fixture(scope="session")
def server(working_directory: Path) -> Iterator[Server]:
    """The released student with texts and their teacher's vectors; no key."""
    with exploring("released", working_directory) as running:
        yield running


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The released student with a table: columns, links, one that is none, and texts that are nearly the same."""
    path = tmp_path_factory.mktemp("table") / "texts.csv"
    rows = [
        {"id": f"00{number}", "text": text, "topic": "weather" if number < 3 else "other", "link": link}
        for number, (text, link) in enumerate(
            [
                ("The storm closed the port.", "https://example.org/?a=1&b=<2>"),
                ("the storm CLOSED the port!", "javascript:alert(1)"),
                ("A gale shut the harbour.", "http://example.org/ <b>x</b>"),
                ("Shares fell in London.", ""),
            ]
        )
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with exploring("released", path) as running:
        yield running


@pytest.fixture(scope="session")
def locked(text_file: Path) -> Iterator[Server]:
    """The released student with texts; a key from the environment."""
    with exploring("released", text_file, key=SECRET) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started
