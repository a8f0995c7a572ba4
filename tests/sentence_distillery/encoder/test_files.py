"""What threads do with the files of a model while modules are imported."""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.persistence import files
from sentence_distillery.encoder.persistence.files import Later, ModelFiles, WeightFile
from sentence_distillery.encoder.persistence.finding import RELEASED_DIRECTORY
from sentence_distillery.encoder.persistence.tensor_file import Digests
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.errors import InputError
from tests.sentence_distillery.distillation.conftest import in_python

BLOCK = 64  # bytes of SHA-256
PART = 1 << 18  # bytes that the core reads at a time

without_core = pytest.mark.skipif(loading.core() is None, reason="the native core is not there")


@pytest.fixture(params=["native", "simple"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "simple":
        monkeypatch.setenv(loading.SWITCH, "0")


def test_a_thread_goes_on_while_the_caller_does() -> None:
    go, done = Event(), Event()

    def compute() -> int:
        go.wait()
        done.set()
        return 7

    later = Later(compute)
    assert not done.is_set()
    go.set()
    assert (later.result(), later.result()) == (7, 7)


def test_an_error_of_the_thread_is_raised_each_time() -> None:
    later: Later[None] = Later(partial(int, "seven"))  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(ValueError, match="seven"):
            later.result()


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("size", [0, 1, 55, 56, BLOCK - 1, BLOCK, BLOCK + 1, 119, 120, PART - 1, PART, 3 * PART + 57])
def test_a_file_is_read_and_hashed(tmp_path: Path, size: int) -> None:
    path, content = tmp_path / "weights", os.urandom(size)
    path.write_bytes(content)
    file = WeightFile(path, hashed=True)
    found = file.content
    assert found is not None and found.readonly and bytes(found) == content
    assert file.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.usefixtures("either_way")
def test_a_file_that_is_not_hashed_ahead_is_hashed_when_it_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"some weights")
    assert WeightFile(path, hashed=False).sha256 == hashlib.sha256(b"some weights").hexdigest()


def test_without_the_instructions_hashlib_computes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        @staticmethod
        def read(file: int, memory: memoryview, hashed: bool) -> tuple[int, None]:
            return os.readv(file, [memory]), None

    monkeypatch.setattr(loading, "core", lambda: Core)
    path = tmp_path / "weights"
    path.write_bytes(b"some weights")
    assert WeightFile(path, hashed=True).sha256 == hashlib.sha256(b"some weights").hexdigest()


@pytest.mark.usefixtures("either_way")
def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, memory = tmp_path / "model.safetensors", files._memory
    content = (RELEASED_DIRECTORY / "model.safetensors").read_bytes()
    path.write_bytes(content)

    def cut(size: int) -> memoryview:
        os.truncate(path, size - 1)
        return memory(size)

    monkeypatch.setattr(files, "_memory", cut)
    begun = WeightFile(path, hashed=True)
    assert begun.content is None and begun.sha256 is None

    # The header is right when it is read, as if the file were cut after that.
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read to its end"):
        Digests(tmp_path, None, begun).open(path).tensors({"embeddings": (None, None)})


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path), lambda path: None])
def test_what_is_not_a_file_is_left_to_the_reader(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "model.safetensors")
    found = ModelFiles("a model", tmp_path)
    found.begin()
    assert found.weights.content is None
    assert found.vocabulary.result() is None


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    with path.open("wb") as file:
        file.truncate(files.MAPPED)
    assert WeightFile(path, hashed=True).content is None


@without_core
def test_the_vocabulary_is_there_before_numpy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from sentence_distillery.encoder.persistence.files import model_files\n"
        "files = model_files('released')\n"
        "files.begin()\n"
        "print(files.vocabulary.result().size, len(files.weights.content), 'numpy' in sys.modules)"
    )
    printed = in_python(code).stdout
    size = (RELEASED_DIRECTORY / "model.safetensors").stat().st_size
    assert printed.split() == [str(len(StaticEncoder.load().stored)), str(size), "False"]


@pytest.mark.parametrize("before", ["enable", "disable"])
def test_the_garbage_collector_is_as_before(before: str) -> None:
    code = f"import gc; gc.{before}(); from sentence_distillery import load; load(); print(gc.isenabled())"
    printed = in_python(code).stdout
    assert printed.strip() == str(before == "enable")
