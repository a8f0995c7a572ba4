"""The two large files of a model, which threads work on while NumPy is imported.

    model.safetensors  a thread reads it and computes its SHA-256
    tokenizer.json     is checked; then a thread has the native core build the vocabulary

So nothing here imports NumPy, which takes longer than all else. A file of weights is read if it is below MAPPED bytes;
`tensor_file` maps a larger one.
"""

from __future__ import annotations

import mmap
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from io import FileIO
from os import fstat
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.vocabulary import Loaded, loader
from sentence_distillery.encoder.persistence.finding import model_directory
from sentence_distillery.encoder.persistence.json_files import check_file
from sentence_distillery.encoder.persistence.names import CONFIG, SHA256, TOKENIZER, WEIGHTS
from sentence_distillery.encoder.persistence.tokenizer_file import TokenizerFile, read_tokenizer_file
from sentence_distillery.io.errors import InputError

MAPPED: Final = 64 * 2**20  # bytes from which a file is mapped
_SETTINGS: Final = 2**20  # bytes of config.json in which digests are searched

T = TypeVar("T")


class Later(Generic[T]):
    """What a thread computes, in one call that needs no lock of the interpreter.

    A thread that waits for this lock may get it no sooner than the caller waits for the result: each call of the system
    in an import starts its waiting anew. So the caller goes on when the thread has begun, and all that needs the lock
    is done before.
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._error: BaseException | None = None
        self._begun, self._done = allocate_lock(), allocate_lock()
        self._begun.acquire()
        self._done.acquire()
        start_new_thread(self._run, ())
        self._begun.acquire()

    def _run(self) -> None:
        self._begun.release()
        try:
            self._result = self._compute()
        except BaseException as error:
            self._error = error
        finally:
            self._done.release()

    def result(self) -> T:
        """Wait for it; raises what the thread has raised."""
        with self._done:
            if self._error is not None:
                raise self._error
            return self._result


class _Read(NamedTuple):
    """What a file holds and its SHA-256; None if it was not read, or not hashed."""

    content: memoryview | None
    sha256: str | None


class WeightFile:
    """A file of weights that a thread reads and, if it is `hashed`, computes the SHA-256 of."""

    def __init__(self, path: Path, hashed: bool) -> None:
        self.path = path
        self._read = Later(_reader(path, hashed))

    @property
    def content(self) -> memoryview | None:
        """What it holds; None if it is so large that it is to be mapped, or cannot be read."""
        return self._read.result().content

    @property
    def sha256(self) -> str | None:
        """Its SHA-256; None if it has no content."""
        content, known = self._read.result()
        return known or (None if content is None else _sha256(content))


class ModelFiles:
    """The files of a model.

    Attributes:
        name: As the caller names the model.
        directory: Where it is.
    """

    def __init__(self, name: Path | str, directory: Path) -> None:
        self.name = str(name)
        self.directory = directory

    def begin(self) -> None:
        """Begin to read; threads go on."""
        _ = self.weights, self.vocabulary

    @cached_property
    def weights(self) -> WeightFile:
        """The table, if the model has no folder for it."""
        return WeightFile(self.directory / WEIGHTS, _lists_digests(self.directory / CONFIG))

    @cached_property
    def tokenizer(self) -> TokenizerFile | None:
        """tokenizer.json, if the model has no folder for it; None if it cannot be read, and others say why."""
        with suppress(InputError):
            return read_tokenizer_file(self.directory / TOKENIZER)
        return None

    @cached_property
    def vocabulary(self) -> Later[Loaded | None]:
        """Its vocabulary, if the native core reads it; errors are left to others."""
        load = None if self.tokenizer is None else loader(self.tokenizer.content)
        return Later(load or (lambda: None))


def model_files(name: Path | str, revision: str | None = None, token: str | bool | None = None) -> ModelFiles:
    """Find the files of a model, and download those of a hub; `model_directory` says what it raises."""
    return ModelFiles(name, model_directory(name, revision, token))


def _lists_digests(path: Path) -> bool:
    """Tell whether config.json seems to have digests, without reading it as JSON."""
    with suppress(OSError):
        check_file(path)
        with path.open("rb") as file:
            return SHA256.encode() in file.read(_SETTINGS)
    return False


def _reader(path: Path, hashed: bool) -> Callable[[], _Read]:
    """Open a file, and return what reads it if it has less than MAPPED bytes; `tensor_file` reports errors."""
    try:
        check_file(path)
        file = path.open("rb", buffering=0)
    except (OSError, InputError):
        return partial(_Read, None, None)
    size = fstat(file.fileno()).st_size
    if size < MAPPED:
        return partial(_fill, file, _memory(size), hashed)
    file.close()
    return partial(_Read, None, None)


def _fill(file: FileIO, memory: memoryview, hashed: bool) -> _Read:
    """Read a file into memory, and hash it."""
    core, count = loading.core(), 0
    digest: bytes | None = None

    # The native core reads and hashes in one pass.
    with suppress(OSError), file:
        if core is not None:
            count, digest = core.read(file.fileno(), memory, hashed)
        while core is None and count < len(memory) and (found := file.readinto(memory[count:])):
            count += found

    # The file may have been cut since its size was read.
    if count < len(memory):
        return _Read(None, None)
    content = memory.toreadonly()
    if hashed and digest is None:
        return _Read(content, _sha256(content))
    return _Read(content, None if digest is None else digest.hex())


def _sha256(content: memoryview) -> str:
    from hashlib import sha256  # it loads OpenSSL, which takes as long as a vocabulary

    return sha256(content).hexdigest()


def _memory(size: int) -> memoryview:
    """Make room for so many bytes, in large pages where the system has them, which halves the time to read."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    memory = mmap.mmap(-1, max(size, 1), **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)[:size]
