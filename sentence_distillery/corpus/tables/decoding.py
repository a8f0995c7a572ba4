"""Read a user's file as lines of text, of any compression, encoding and line ends.

    suffix .gz, .zst       unpacked while it is read
    byte order mark        UTF-8, UTF-16 or UTF-32; without a mark the file has to be UTF-8
    line ends              \\n and \\r\\n; \\r alone in a file that begins with lines without \\n

A file with the suffix of one kind and the content of another, such as a renamed Excel workbook, is refused by name.
Memory is bounded: a line has at most LONGEST_LINE bytes or characters.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from sentence_distillery.io.errors import InputError, one_line

LONGEST_LINE = 100_000_000  # characters or bytes; also of a field of CSV, which may have several lines
HEAD = 65_536  # bytes that decide on encoding, line ends and kind
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
MARKS = {  # byte order mark -> encoding; UTF-32's little-endian mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
STREAM = b"\xff\xff\xff\xff"
BINARY = {  # the first bytes -> what the file is, and what to do with it
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    STREAM: "a stream of Arrow; name it .arrow",
    b"FEA1": "a Feather file of version 1; write it again with a current pandas or pyarrow",
    b"\x1f\x8b": "compressed with gzip; add .gz to its name",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; add .zst to its name",
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV in UTF-8",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file; save it as CSV in UTF-8, or as text",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip or zstd",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip or zstd",
    b"%PDF": "a PDF document; save its text",
    b"\x80\x04\x95": "a pickle, which can run code; save it as Parquet or CSV",
    b"\x80\x05\x95": "a pickle, which can run code; save it as Parquet or CSV",
    b"SQLite format 3": "an SQLite database; export a table as CSV",
}
RESTORE = "Restore the file, or leave it out."


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been taken off, with these put back."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        taken = self._head[: len(view)] or self._rest.read(len(view))
        self._head = self._head[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


def without_compression(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression.

    Example:
        >>> without_compression(Path("a/News.CSV.gz"))
        '.csv'
    """
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked; raises InputError, naming the file, if it cannot be read."""
    try:
        match COMPRESSED.get(path.suffix.lower()):
            case "gzip":
                with gzip.open(path) as stream:
                    yield cast(BinaryIO, stream)
            # Python has no zstd before 3.14.
            case "zstd":
                with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, "zstd") as unpacked:
                    yield cast(BinaryIO, unpacked)
            case _:
                with path.open("rb") as file:
                    yield file
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or one_line(error)
    return InputError(f"{path} cannot be read: {reason}. {RESTORE}")


def decoded_head(head: bytes) -> str:
    """Return the text at the beginning of a file; what cannot be decoded is replaced."""
    return head.decode(encoding_of(head) or "utf-8", errors="replace").removeprefix("\ufeff")


def binary_kind(head: bytes) -> str | None:
    """Return what a file is by its first bytes, and what to do with it; None if these may be of text."""
    return next((kind for start, kind in BINARY.items() if head.startswith(start)), None)


def refuse_binary(name: object, head: bytes) -> None:
    """Raise InputError if the first bytes are those of a file that has no lines of text."""
    if kind := binary_kind(head):
        raise InputError(f"{name} is not text but {kind}.")
    if encoding_of(head) is None and (without_mark := _wide_without_mark(head)):
        raise InputError(
            f"{name} looks like {without_mark} without a byte order mark; convert it, as with "
            f"`iconv -f {without_mark} -t UTF-8`."
        )


def decoded_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file with their ends, none longer than LONGEST_LINE; raises InputError."""
    with opened(path) as stream:
        yield from lines_of(stream, path)


def lines_of(stream: BinaryIO, name: object) -> Iterator[str]:
    """Yield the decoded lines of a stream of bytes with their ends; `name` says in errors where they come from.

    Raises InputError if the content is not text, a line is not in the file's encoding or is too long.
    """
    head = stream.read(HEAD)
    refuse_binary(name, head)
    whole = io.BufferedReader(_Rejoined(head, stream), HEAD)

    # The encoding and the ends of lines show in the beginning of a file.
    encoding, start = encoding_of(head), decoded_head(head)
    carriage = "\r" in start[:-1] and "\n" not in start
    if encoding in (None, "utf-8-sig") and not carriage:
        yield from _utf8_lines(whole, name)
    else:
        yield from _other_lines(whole, name, encoding or "utf-8", "\r" if carriage else "\n")


def decoded(content: bytes, name: object) -> str:
    """Return the text of the whole content of a file; raises InputError as `lines_of`."""
    encoding = encoding_of(content) or "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding in ("utf-8", "utf-8-sig"):
            raise InputError(not_utf8(f"{name}: byte {error.start}")) from error
        before = content[: error.start].decode(encoding, errors="ignore")
        raise _not_in(encoding, name, before.count("\n")) from error


def encoding_of(head: bytes) -> str | None:
    return next((encoding for mark, encoding in MARKS.items() if head.startswith(mark)), None)


def _wide_without_mark(head: bytes) -> str | None:
    """Tell an encoding by its zeros: every second byte in UTF-16 of Latin letters, three of four in UTF-32."""
    zeros = [head[place::4].count(0) / max(len(head) // 4, 1) for place in range(4)]
    seen = "".join("0" if share > 0.5 else "x" if share < 0.1 else "?" for share in zeros)
    return {"x000": "UTF-32LE", "000x": "UTF-32BE", "x0x0": "UTF-16LE", "0x0x": "UTF-16BE"}.get(seen)


def _utf8_lines(stream: BinaryIO, name: object) -> Iterator[str]:
    for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), start=1):
        _check_length(name, number, line)
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(not_utf8(f"{name}, line {number}, byte {error.start}")) from error


def _other_lines(stream: BinaryIO, name: object, encoding: str, end: str) -> Iterator[str]:
    number = 0

    # Python decodes these itself, slower than UTF-8 but with the same limits.
    try:
        with io.TextIOWrapper(stream, encoding=encoding, newline=end) as text:
            for number, line in enumerate(iter(partial(text.readline, LONGEST_LINE + 1), ""), start=1):
                _check_length(name, number, line)
                yield line
    except UnicodeError as error:
        raise _not_in(encoding, name, number) from error


def _not_in(encoding: str, name: object, line: int) -> InputError:
    """Return the error for content that the byte order mark says to be in `encoding`."""
    return InputError(f"{name} is not {encoding.upper().removesuffix('-SIG')} after line {line}. {RESTORE}")


def _check_length(name: object, number: int, line: Sized) -> None:
    if len(line) > LONGEST_LINE:
        raise InputError(f"{name}, line {number} is longer than {LONGEST_LINE:,} bytes or characters. {RESTORE}")


def not_utf8(place: str) -> str:
    """Return the message for a byte that is not UTF-8."""
    return f"{place} is not UTF-8. Convert the file, as with `iconv -f WINDOWS-1252 -t UTF-8`."
