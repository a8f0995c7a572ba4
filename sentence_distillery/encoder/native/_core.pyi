"""The types of the compiled module; module.c says what they do."""

from typing import Any

from numpy.typing import NDArray

unicode_tables: str

def write_buckets(vectors: NDArray[Any], least: NDArray[Any], steps: NDArray[Any], out: NDArray[Any], /) -> None: ...
def read(file: int, memory: memoryview, hashed: bool, /) -> tuple[int, bytes | None]: ...
def scan_vocabulary(content: bytes, start: int, /) -> tuple[int, tuple[int, int, int], dict[str, int]] | None: ...

class Vocabulary:
    def __new__(cls, words: list[str], terms: list[int], longest_word: int, normalizer: int, /) -> Vocabulary: ...
    @classmethod
    def of_json(
        cls,
        content: bytes,
        start: int,
        sizes: tuple[int, int, int],
        terms: dict[str, int],
        longest_word: int,
        normalizer: int,
        /,
    ) -> Vocabulary: ...
    def token_ids(self, texts: list[str], /) -> tuple[bytes, bytes]: ...
    def normalized(self, text: str, /) -> str: ...

class Encoder:
    def __new__(
        cls,
        vocabulary: Vocabulary | None,
        table: NDArray[Any],
        unit: float,
        channel: tuple[NDArray[Any], NDArray[Any], NDArray[Any], int, float] | None,
        layer: tuple[NDArray[Any], NDArray[Any], bool] | None,
        /,
    ) -> Encoder: ...
    def encode(
        self, texts: list[str], out: NDArray[Any], form: int, counts: NDArray[Any] | None, width: int, /
    ) -> int: ...
    def embed(self, ids: NDArray[Any], offsets: NDArray[Any], out: NDArray[Any], form: int, width: int, /) -> None: ...
