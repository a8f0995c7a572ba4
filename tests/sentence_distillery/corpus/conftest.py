"""A workspace in a temporary directory: params.yaml of the demo profile, and the inputs that a test names."""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.corpus.schema import ARTICLES, DROPPED_FILE, EVALUATION_FINGERPRINTS
from sentence_distillery.io.artifacts import write_table
from stages import paths
from tests.workspace import ROOT as ROOT
from tests.workspace import write_params

COLUMNS = {"text": "text", "title": "title", "url": "url", "published": "date", "source": "source"}

Row = dict[str, Any]


class Workspace:
    """Fill a stage's working directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.changes: dict[str, dict[str, Any]] = {}
        (directory / "data/external").mkdir(parents=True)
        self.hold_out([])
        self.set("crawl", source="package")
        self.set("shards", processes=1)

    def set(self, section: str, **values: object) -> None:
        """Change parameters of one section."""
        self.changes[section] = self.changes.get(section, {}) | values
        write_params(self.directory / "params.yaml", **self.changes)

    def inputs(
        self,
        *paths: str,
        columns: dict[str, str | None] | None = None,
        format: str | None = None,
        sources: list[str] | None = None,
    ) -> None:
        """Crawl these files, or some of their sources."""
        given = [
            {"path": path, "format": format, "columns": columns or COLUMNS}
            | ({} if sources is None else {"sources": sources})
            for path in paths
        ]
        self.set("crawl", source="files", inputs=given, folder="data/external")

    def hold_out(self, sentences: Sequence[str]) -> None:
        table = pa.table({"fingerprint": [fingerprint(text) for text in sentences]}, schema=EVALUATION_FINGERPRINTS)
        write_table(self.directory / paths.EVALUATION_FINGERPRINTS, table)

    def articles(
        self,
        texts: Sequence[str],
        part: int = 0,
        *,
        sources: Sequence[str] | None = None,
        days: Sequence[date | None] | None = None,
    ) -> Path:
        """Write one part of articles as the crawl stage does."""
        columns = {
            "url": list(map(str, range(len(texts)))),
            "source": list(sources or ["test"] * len(texts)),
            "published": list(days or [None] * len(texts)),
            "title": [None] * len(texts),
            "text": list(texts),
        }
        path = self.directory / paths.ARTICLES / f"part-{part:05d}.parquet"
        write_table(path, pa.table(columns, schema=ARTICLES))
        return path

    def crawled(self) -> list[Row]:
        return _rows(self.directory / paths.ARTICLES, "part-*.parquet")

    def kept(self) -> list[Row]:
        return _rows(self.directory / paths.SENTENCES, "part-*.parquet")

    def dropped(self) -> list[Row]:
        return _rows(self.directory / paths.SENTENCES, DROPPED_FILE)

    def counters(self, name: str) -> dict[str, Any]:
        counters: dict[str, Any] = json.loads((self.directory / f"reports/counters/{name}.json").read_text())
        return counters


def _rows(directory: Path, pattern: str) -> list[Row]:
    return [row for path in sorted(directory.glob(pattern)) for row in pq.read_table(path).to_pylist()]


def content(directory: Path) -> dict[str, bytes]:
    """The bytes of every file in `directory`, by name."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    return Workspace(tmp_path)
