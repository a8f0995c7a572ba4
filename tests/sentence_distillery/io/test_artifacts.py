"""Files: written atomically, and checked when read."""

import json
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save

from sentence_distillery.io import artifacts
from sentence_distillery.io.artifacts import (
    InputError,
    atomic_directory,
    atomic_file,
    read_json,
    read_table,
    read_tensors,
    table_parts,
    write_json,
    write_table,
    write_tensors,
)
from tests.workspace import ROOT

SCHEMA = pa.schema([("word", pa.string()), ("count", pa.int64())])
TABLE = pa.table([[f"word{number}" for number in range(200)], list(range(200))], schema=SCHEMA)
SPACE = 64 * 1024  # bytes on the small disk; everything in WRITERS needs more
NUMBERS = np.random.default_rng(1).random(SPACE // 4)

Writer = Callable[[Path], None]


def write_models(target: Path) -> None:
    with atomic_directory(target) as partial:
        write_json(partial / "config.json", {})
        write_tensors(partial / "model.safetensors", {"numbers": NUMBERS})


def write_text(target: Path) -> None:
    with atomic_file(target) as partial:
        partial.write_text("x" * 2 * SPACE, encoding="utf-8")


WRITERS: dict[str, Writer] = {
    "file": write_text,
    "json": lambda target: write_json(target, NUMBERS.tolist()),
    "table": lambda target: write_table(target, pa.table({"numbers": NUMBERS})),
    "tensors": lambda target: write_tensors(target, {"numbers": NUMBERS}),
    "directory": write_models,
}


def run(program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate process, in `directory`."""
    imports = "import os, signal, shutil\nfrom pathlib import Path\nfrom sentence_distillery.io import artifacts\n"
    command = [sys.executable, "-c", imports + textwrap.dedent(program)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)


def files(directory: Path) -> dict[str, bytes]:
    """Every file below `directory`, hidden ones included, with its bytes."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_a_file_appears_whole_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "new/directory/file.txt"
    with atomic_file(target) as partial:
        partial.write_text("half")
        assert not target.exists()
    assert files(tmp_path) == {"new/directory/file.txt": b"half"}


def test_a_directory_replaces_what_was_there(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with atomic_directory(tmp_path / "model") as partial:
            (partial / name).touch()
    assert files(tmp_path) == {"model/second": b""}


@pytest.mark.fault(1)
def test_a_partial_path_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    """Files of a killed run do not mix with those of the next one."""
    for partial in (tmp_path / ".model.partial", tmp_path / ".model.old.partial"):
        partial.mkdir()
        (partial / "stale").touch()
    with atomic_directory(tmp_path / "model") as directory:
        (directory / "fresh").touch()
    assert files(tmp_path) == {"model/fresh": b""}


@pytest.mark.parametrize("processes", [True, False])
def test_of_many_writers_at_once_the_last_one_stays(tmp_path: Path, processes: bool) -> None:
    """regression: they wrote into each other's partial file, and one ended well with a damaged file."""
    pool = ProcessPoolExecutor(2, get_context("spawn")) if processes else ThreadPoolExecutor(6)
    with pool:
        list(pool.map(_write_both, [tmp_path] * 6, range(6)))
    written = files(tmp_path)
    assert sorted(written) == ["model/one", "model/two", "table"]
    assert len({written["model/one"], written["model/two"]}) == 1 and len(set(written["table"])) == 1


def _write_both(place: Path, writer: int) -> None:
    content = str(writer) * 100_000
    for _ in range(20):
        with atomic_directory(place / "model") as directory, atomic_file(place / "table") as file:
            for name in (directory / "one", directory / "two", file):
                name.write_text(content)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, InputError])
@pytest.mark.fault(3)
def test_an_error_leaves_the_earlier_output(error: type[BaseException], tmp_path: Path) -> None:
    """An error or Ctrl-C inside the block removes the partial files and passes on."""
    (tmp_path / "file").write_text("earlier")
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/part").write_text("earlier")
    with pytest.raises(error), atomic_directory(tmp_path / "directory") as directory:
        (directory / "half").touch()
        with atomic_file(tmp_path / "file") as partial:
            partial.write_text("half")
            raise error
    assert files(tmp_path) == {"file": b"earlier", "directory/part": b"earlier"}


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.fault(1)
def test_killed_while_writing(earlier: bool, tmp_path: Path) -> None:
    """SIGKILL leaves nothing new at a final path, and the earlier output intact."""
    if earlier:
        (tmp_path / "model").mkdir()
        (tmp_path / "model/weights").write_text("earlier")
        (tmp_path / "file").write_text("earlier")
    before = files(tmp_path)
    done = run(
        """
        with artifacts.atomic_directory(Path("model")) as directory, artifacts.atomic_file(Path("file")) as file:
            (directory / "weights").write_text("half")
            file.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
    )
    assert done.returncode == -signal.SIGKILL
    assert {name: data for name, data in files(tmp_path).items() if ".partial" not in name} == before


@pytest.mark.fault(1)
def test_killed_while_replacing_a_directory(tmp_path: Path) -> None:
    """SIGKILL while the old directory is being removed leaves the new one complete, never half of the old."""
    (tmp_path / "model").mkdir()
    for name in ("config", "weights"):
        (tmp_path / "model" / name).write_text("earlier")
    done = run(
        """
        def killed_half_way(path):
            (path / "config").unlink()
            os.kill(os.getpid(), signal.SIGKILL)

        with artifacts.atomic_directory(Path("model")) as directory:
            for name in ("config", "weights"):
                (directory / name).write_text("new")
            artifacts.shutil.rmtree = killed_half_way
        """,
        tmp_path,
    )
    assert done.returncode == -signal.SIGKILL
    assert files(tmp_path / "model") == {"config": b"new", "weights": b"new"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", str(tmp_path)], check=False)
    if mounted.returncode:
        pytest.skip("a tmpfs may not be mounted here (not root); the tests with RLIMIT_FSIZE cover the same code")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.fixture
def small_files() -> Iterator[None]:
    """Limit files to 64 KB in this process: a larger write gets an OSError, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SPACE, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def refused(kind: str, target: Path, reason: str) -> None:
    """A write that the system refuses names the path; nothing partial stays, and what was there before does."""
    before = files(target.parent)
    with pytest.raises(InputError, match=rf"output.* could not be written: .*{reason}"):
        WRITERS[kind](target)
    assert files(target.parent) == before


def earlier_output(directory: Path, kind: str) -> Path:
    target = directory / "output"
    if kind == "directory":
        target.mkdir()
    (target / "config.json" if kind == "directory" else target).write_text("earlier")
    return target


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.fault(11)
def test_file_too_large(kind: str, tmp_path: Path, small_files: None) -> None:
    refused(kind, earlier_output(tmp_path, kind), "File too large.* free some space")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.fault(11)
def test_a_disk_that_is_full_or_read_only(kind: str, small_disk: Path) -> None:
    """A disk that is really full, and a directory that not even root can write."""
    target = earlier_output(small_disk, kind)
    refused(kind, target, "No space left on device.* free some space")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused(kind, target, "Read-only file system")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.fault(11)
def test_parent_is_a_file(kind: str, tmp_path: Path) -> None:
    """A place that cannot be written, for root neither, on any machine."""
    (tmp_path / "models").write_text("a file")
    with pytest.raises(InputError, match=r"models/output could not be written: (File exists|Not a directory)"):
        WRITERS[kind](tmp_path / "models/output")
    assert files(tmp_path) == {"models": b"a file"}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", r"^\. cannot be replaced as a whole; name a file or a directory in it\.$"),
        ("", r"^\. cannot be replaced as a whole"),
        ("a/..", r"^a/\.\. cannot be replaced as a whole"),
        ("a" * 256, r"^a+ could not be written: File name too long\. .*; give a shorter name, then run again\.$"),
        ("a" * 250, r"^a+ could not be written: File name too long\. .*; give a shorter name"),
    ],
)
def test_names_that_cannot_be_written(
    kind: str, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        WRITERS[kind](Path(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"mae": [1.0, float("-inf")]}])
@pytest.mark.fault(20)
def test_json_refuses_what_it_has_no_word_for(value: object, tmp_path: Path) -> None:
    """NaN and infinity never reach a JSON file."""
    write_json(tmp_path / "metrics.json", {"earlier": 1})
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        write_json(tmp_path / "metrics.json", value)
    assert read_json(tmp_path / "metrics.json", dict[str, int]) == {"earlier": 1}
    assert list(files(tmp_path)) == ["metrics.json"]


@pytest.mark.parametrize("read", [lambda path: read_json(path, dict[str, int]), lambda path: read_table(path, SCHEMA)])
def test_missing_file(read: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent cannot be read: it does not exist\. Restore or rebuild it\.$"):
        read(tmp_path / "absent")


@pytest.mark.fault(27)
def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    """No clock and no path in a file."""
    write_table(tmp_path / "one.parquet", TABLE)
    write_table(tmp_path / "two/other.parquet", TABLE.combine_chunks())
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two/other.parquet").read_bytes()
    for name in ("x.safetensors", "two/x.safetensors"):
        write_tensors(tmp_path / name, {"n": NUMBERS})
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "two/x.safetensors").read_bytes()


def test_table_round_trip(tmp_path: Path) -> None:
    write_table(tmp_path / "words.parquet", TABLE.append_column("more", pa.array([True] * 200)))
    assert read_table(tmp_path / "words.parquet", SCHEMA).equals(TABLE)
    reordered = pa.schema([SCHEMA.field("count"), SCHEMA.field("word")])
    assert read_table(tmp_path / "words.parquet", reordered).column_names == ["count", "word"]


@pytest.mark.fault(15)
def test_truncated_table(tmp_path: Path) -> None:
    """A file cut short anywhere is a clean error that names it."""
    path = tmp_path / "words.parquet"
    write_table(path, TABLE)
    data = path.read_bytes()
    for length in [0, 3, 4, 8, *range(9, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match=r"words\.parquet cannot be read: .* Restore or rebuild it\.$"):
            read_table(path, SCHEMA)


@pytest.mark.fault(15)
def test_flipped_bits(tmp_path: Path) -> None:
    """One flipped bit in any byte is a clean error that names the file, or changes nothing that is read."""
    path = tmp_path / "words.parquet"
    table = TABLE.slice(0, 20)
    write_table(path, table)
    data = path.read_bytes()
    errors = 0
    for place, byte in enumerate(data):
        path.write_bytes(data[:place] + bytes([byte ^ 0b1000]) + data[place + 1 :])
        try:
            assert read_table(path, SCHEMA).equals(table)
        except InputError as error:
            assert "words.parquet" in str(error)
            errors += 1
    assert errors > len(data) / 2


@pytest.mark.fault(15)
def test_other_bytes(tmp_path: Path) -> None:
    """A file that is not Parquet at all."""
    for content in (b"word,count\na,1\n", b"PAR1PAR1", os.urandom(1000), b"PAR1" + os.urandom(1000) + b"PAR1"):
        (tmp_path / "words.parquet").write_bytes(content)
        with pytest.raises(InputError, match=r"words\.parquet cannot be read"):
            read_table(tmp_path / "words.parquet", SCHEMA)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (pa.schema([("words", pa.string())]), r"has no column 'words' \(it has word, count\)"),
        (pa.schema([("count", pa.int32())]), r"column 'count' is int64, expected int32"),
    ],
)
def test_other_columns(schema: pa.Schema, message: str, tmp_path: Path) -> None:
    write_table(tmp_path / "words.parquet", TABLE)
    with pytest.raises(InputError, match=rf"words\.parquet.* {message}\. Restore or rebuild it\.$"):
        read_table(tmp_path / "words.parquet", schema)


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"]], names=["word", "word"]), tmp_path / "words.parquet")
    with pytest.raises(InputError, match=r"words\.parquet has the column 'word' 2 times\. Restore or rebuild it\.$"):
        read_table(tmp_path / "words.parquet", pa.schema([("word", pa.string())]))


def test_parts_in_order(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no part-\*\.parquet\. Restore or rebuild it\.$"):
        table_parts(tmp_path)
    for name in ("part-00010", "part-00002", "dropped", ".part-00000.parquet.partial"):
        (tmp_path / f"{name}.parquet").touch()
    assert [part.name for part in table_parts(tmp_path)] == ["part-00002.parquet", "part-00010.parquet"]


def test_tensors_round_trip(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_tensors(tmp_path / "x.safetensors", {"straight": array, "turned": array.T})
    found = read_tensors(tmp_path / "x.safetensors", {"straight": (None, 4), "turned": (4, 3)})
    np.testing.assert_array_equal(found["straight"], array)
    np.testing.assert_array_equal(found["turned"], array.T)


@pytest.mark.fault(21)
def test_a_pickle_is_refused(tmp_path: Path) -> None:
    """A pickle under the name of a model is refused, and none of its code runs."""
    ran = tmp_path / "ran"

    class Payload:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
            return os.mkdir, (str(ran),)

    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(InputError, match=r"not a readable safetensors file .*Pickled models .* are refused: convert"):
        read_tensors(path, {"x": (None,)})
    torch.save({"x": torch.zeros(3)}, path)
    with pytest.raises(InputError, match=r"Pickled models .* are refused"):
        read_tensors(path, {"x": (3,)})
    assert not ran.exists()


def _header(header: object, data: bytes = b"\0" * 16) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 4,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 200_000_000) + b"{}",
        _header(b"{not json"),
        _header(b'{"x": 3}'),
        _header({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 1_000_000]}}),
        _header({"x": {"dtype": "F32", "shape": [4], "data_offsets": [8, 4]}}),
        _header({"x": {"dtype": "F32", "shape": [400], "data_offsets": [0, 16]}}),
        _header({"x": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 16]}}),
        _header({"x": {"dtype": "F32", "shape": [2**62, 0], "data_offsets": [0, 0]}}),
        _header({"x": {"dtype": "F99", "shape": [4], "data_offsets": [0, 16]}}),
        save({"x": np.zeros(4, dtype=np.float32)})[:-1],
    ],
)
@pytest.mark.fault(22)
def test_damaged_tensors(content: bytes, tmp_path: Path) -> None:
    """An oversized header, bad offsets, impossible shapes, a truncated file: one clean error each."""
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(
        InputError, match=r"model\.safetensors is not a readable safetensors file .* Restore or rebuild it\.$"
    ):
        read_tensors(tmp_path / "model.safetensors", {"x": (4,)})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": (4,)}, r"has no tensor 'y' \(it has x\)"),
        ({"x": (5,)}, r"tensor 'x' has shape \(4,\), expected \(5,\)"),
        ({"x": (4, 1)}, r"tensor 'x' has shape \(4,\), expected \(4, 1\)"),
        ({"x": (None, None)}, r"tensor 'x' has shape \(4,\), expected \(None, None\)"),
    ],
)
@pytest.mark.fault(22)
def test_other_tensors(shapes: dict[str, tuple[int | None, ...]], message: str, tmp_path: Path) -> None:
    """A missing tensor and a wrong dimension."""
    write_tensors(tmp_path / "model.safetensors", {"x": np.zeros(4, dtype=np.float32)})
    with pytest.raises(InputError, match=message):
        read_tensors(tmp_path / "model.safetensors", shapes)


@pytest.mark.fault(1)
def test_partial_names_are_ignored_by_git_and_dvc() -> None:
    """Git never tracks files of a killed run."""
    target = artifacts._beside(Path("models/student"))
    assert target == Path("models/.student.partial")
    for file in (".gitignore", ".dvcignore"):
        assert ".*.partial" in (ROOT / file).read_text().splitlines()
