"""Copying from a directory and downloading, here from a server on the loopback address."""

import http.server
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sentence_distillery.evaluation.sets.registry import BENCHMARKS, EXTERNAL
from sentence_distillery.io.artifacts import InputError
from stages.benchmarks import download as module
from stages.benchmarks import fetch as stage
from stages.benchmarks.download import copy_from, download, fetch, fetch_set
from stages.benchmarks.fetch import main
from tests.sentence_distillery.evaluation.sets.conftest import ROOT, external_set, write

FILES = {"a.csv": "one\n", "b.csv": "two\n"}


class Server(http.server.ThreadingHTTPServer):
    """Serves `bodies` by path, counting requests; a path in `failing` answers 503 that many times first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.home = f"http://127.0.0.1:{self.server_port}"
        self.bodies: dict[str, bytes] = {}
        self.failing: dict[str, int] = {}
        self.requests: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        left = self.server.failing.get(self.path, 0)
        self.server.failing[self.path] = left - 1
        body = self.server.bodies.get(self.path)
        self.send_response(503 if left > 0 else 404 if body is None else 200)
        self.end_headers()
        self.wfile.write(b"" if left > 0 or body is None else body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.fault(16)
def test_a_wrong_file_in_place(tmp_path: Path) -> None:
    """Replaced if the right file arrives, reported otherwise."""
    write(tmp_path / "to/tiny", {"a.csv": "other\n", "b.csv": "other\n"})
    write(tmp_path / "from/tiny", {"a.csv": "one\n"})
    report = fetch_set(external_set("tiny", FILES), tmp_path / "to", copy_from(tmp_path / "from"))
    assert report.fetched == ["a.csv"] and (tmp_path / "to/tiny/a.csv").read_text() == "one\n"
    assert "to/tiny/b.csv has SHA-256" in report.wrong["b.csv"] and "replaced: not in" in report.wrong["b.csv"]
    assert (tmp_path / "to/tiny/b.csv").read_text() == "other\n"


@pytest.mark.fault(11)
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """The message names the path."""
    write(tmp_path / "from/tiny", FILES)
    (tmp_path / "to").write_text("a file where a directory should be")
    with pytest.raises(InputError, match=r"to/tiny/a.csv could not be written"):
        fetch_set(external_set("tiny", FILES), tmp_path / "to", copy_from(tmp_path / "from"))


@pytest.mark.fault(16)
def test_download(tmp_path: Path, server: Server) -> None:
    """Good, wrong and missing files, and files without an address, each with a clear message."""
    server.bodies = {f"/{name}": text.encode() for name, text in FILES.items()} | {"/wrong.csv": b"another edition\n"}
    sets = [
        external_set("good", FILES, server.home),
        external_set("changed", {"wrong.csv": "this edition\n"}, server.home),
        external_set("gone", {"gone.csv": "x\n"}, server.home),
        external_set("packed", {"p.parquet": "x\n"}),
    ]
    good, changed, gone, packed = fetch(sets, tmp_path, download())
    assert good.complete and (tmp_path / "good/b.csv").read_text() == "two\n"
    assert "the download has SHA-256" in changed.wrong["wrong.csv"] and not (tmp_path / "changed").exists()
    assert gone.missing["gone.csv"].endswith("answered 404 Not Found") and server.requests.count("/gone.csv") == 1
    assert packed.missing["p.parquet"] == "cannot be downloaded, since no public file has these bytes; add it yourself"


@pytest.mark.parametrize(("failures", "comes"), [(1, True), (2, False)])
def test_one_retry(tmp_path: Path, server: Server, failures: int, comes: bool) -> None:
    server.bodies, server.failing = {"/a.csv": b"one\n"}, {"/a.csv": failures}
    report = fetch_set(external_set("tiny", {"a.csv": "one\n"}, server.home), tmp_path, download())
    assert report.complete is comes and len(server.requests) == 2


def test_a_body_without_end(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAXIMUM_BYTES", 10)
    server.bodies = {"/a.csv": b"x" * 1000}
    report = fetch_set(external_set("tiny", {"a.csv": "one\n"}, server.home), tmp_path, download())
    assert report.missing["a.csv"].endswith("/a.csv sends more than the 10 bytes that are allowed")


@pytest.mark.fault(24)
def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable host is tried twice in total, not twice a file."""
    calls: list[str] = []
    ask = module._get_once

    def counted(url: str) -> bytes:
        calls.append(url)
        return ask(url)

    monkeypatch.setattr(module, "_get_once", counted)
    with socket.socket() as closed:  # held, or another process could listen there
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        report = fetch_set(external_set("tiny", FILES, nobody), tmp_path, download())
    assert calls == [f"{nobody}/a.csv"] * 2 and list(report.missing) == ["a.csv", "b.csv"]
    host = urlsplit(nobody).netloc
    assert re.search(rf"; a.csv, b.csv: {host} could not be reached \(.*Connection refused\)$", report.line())


def test_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """0 with one complete set, 1 with none, 1 with a wrong checksum; an incomplete set is reported with a remedy.

    A file that is there is not fetched again.
    """
    monkeypatch.chdir(tmp_path)
    full, bad = external_set("full", FILES), external_set("bad", {"c.csv": "three\n"})
    monkeypatch.setattr(stage, "EXTERNAL", (full, bad))
    with pytest.raises(SystemExit, match=r"--from nowhere is not a directory"):
        main(["--from", "nowhere"])
    (tmp_path / "brought").mkdir()
    with pytest.raises(SystemExit, match="1"):
        main(["--from", "brought"])
    assert "To add full, bad: put the files into <directory>/<set>/" in capsys.readouterr().out
    write(tmp_path / "brought/full", FILES)
    main(["--from", "brought"])
    assert capsys.readouterr().out.startswith("full: complete (2 fetched, 0 already there)\nbad: absent (0 fetched")
    fetched = tmp_path / "data/external/full/a.csv"
    stamp = fetched.stat().st_mtime_ns
    assert {path.name: path.read_text() for path in fetched.parent.iterdir()} == FILES
    write(tmp_path / "brought/bad", {"c.csv": "changed\n"})
    with pytest.raises(SystemExit, match="1"):
        main(["--from", "brought"])
    said = capsys.readouterr().out
    assert said.startswith(
        "full: complete (0 fetched, 2 already there)\nbad: absent (0 fetched, 0 already there); c.csv: "
    )
    assert fetched.stat().st_mtime_ns == stamp and not (tmp_path / "data/external/bad").exists()


def test_the_pinned_table() -> None:
    """The stage reads only files that are pinned, and the table is that of the shared directories where they are."""
    pinned = {f"{entry.name}/{file.name}": file.sha256 for entry in EXTERNAL for file in entry.pins}
    for benchmark in BENCHMARKS.values():
        if benchmark.external:
            assert {f"{benchmark.name}/{file}" for file in benchmark.files} <= set(pinned)
    tables = [ROOT.parent / f"shared/{folder}/SHA256SUMS" for folder in ("benchmarks", "suite")]
    if not all(table.is_file() for table in tables):
        pytest.skip(f"no {' and '.join(map(str, tables))} to compare with")
    lines = [line.split() for table in tables for line in table.read_text().splitlines()]
    found = {"/".join(name.split("/")[-2:]): sha256 for sha256, name in lines}
    del found["text/ohsumed.parquet"]  # text to train on
    assert pinned == found


def test_copy_from_groups_and_from_several_directories(tmp_path: Path) -> None:
    """A directory may have its sets in groups, and the first directory that has a file gives it."""
    write(tmp_path / "one/group/tiny", {"a.csv": "one\n"})
    write(tmp_path / "two/tiny", {"a.csv": "other\n", "b.csv": "two\n"})
    source = copy_from(tmp_path / "one", tmp_path / "two")
    assert fetch_set(external_set("tiny", FILES), tmp_path / "to", source).complete
    lacking = fetch_set(external_set("none", FILES), tmp_path / "to", source)
    assert set(lacking.missing.values()) == {f"not in {tmp_path / 'one/none'} or {tmp_path / 'two/none'}"}
