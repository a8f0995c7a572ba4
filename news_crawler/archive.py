"""Fetched pages in compressed WARC files (ISO 28500), one gzip member a record, so that each can be read on its own.

A payload is stored as it was transferred, with its Content-Encoding. The same payload twice, or an answer 304, becomes
a `revisit` record without payload. A killed crawl can leave the end of a file half written: the caller that opens the
archive says how far each file is valid, and the rest is cut off.
"""

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from sentence_distillery.io.artifacts import InputError

FILE_BYTES = 1_000_000_000
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Place:
    """The place of a record: file name, offset and length in bytes."""

    file: str
    offset: int
    length: int


class Archive:
    """The WARC files of one directory; only one process may write."""

    def __init__(self, directory: Path, software: str) -> None:
        self._directory = directory
        self._software = software
        self._file: BinaryIO | None = None
        self._number = 0

    def recover(self, ends: Iterable[tuple[str, int]]) -> None:
        """Cut each file to the end that is known to be valid, and remove unknown files.

        Raises InputError if a file is shorter than that, or missing.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        known = dict(ends)
        for path in self._directory.glob("*.warc.gz"):
            if path.name not in known:
                path.unlink()

        # A record that the database does not know was being written when the process was killed.
        for name, end in known.items():
            path = self._directory / name
            if not path.exists() or path.stat().st_size < end:
                raise InputError(
                    f"{path} is shorter than {end} bytes, its length after writing; restore it, or remove "
                    f"{self._directory.parent} and crawl again."
                )
            os.truncate(path, end)
        self._number = len(known)

    def append(
        self,
        url: str,
        when: float,
        status: str,
        headers: Headers,
        payload: bytes,
        same_as: tuple[str, str] | None = None,
    ) -> Place:
        """Write one answer and return its place once it is on the disk.

        `same_as` is the URL and the `sha256:` digest of a payload that is already stored; then none is written.
        """
        file = self._open()
        offset = file.tell()
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        http = StatusAndHeaders(status, [*headers], protocol="HTTP/1.1")
        date = {"WARC-Date": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}

        # A body that is there already is not written again; the record says where it is, as the WARC format has it.
        if same_as is None:
            record = writer.create_warc_record(
                url, "response", io.BytesIO(payload), len(payload), warc_headers_dict=date, http_headers=http
            )
        else:
            seen, digest = same_as
            record = writer.create_revisit_record(url, digest, seen, date["WARC-Date"], http, date)

        # On the disk before the database knows of it: a kill may leave a record too many, never a reference to none.
        writer.write_record(record)
        file.flush()
        os.fsync(file.fileno())
        return Place(Path(file.name).name, offset, file.tell() - offset)

    def read(self, place: Place) -> bytes:
        """Return the payload of a record as transferred; raises InputError if the file is damaged."""
        path = self._directory / place.file

        # Only the record's own bytes, and checked against its digest.
        try:
            with path.open("rb") as file:
                file.seek(place.offset)
                record = next(ArchiveIterator(io.BytesIO(file.read(place.length)), check_digests="raise"))
                payload: bytes = record.raw_stream.read()
        except Exception as error:  # warcio passes on the errors of its parsers
            raise InputError(
                f"{path} is damaged at byte {place.offset} ({type(error).__name__}: {error}); restore it, or remove "
                f"{self._directory.parent} and crawl again."
            ) from error
        return payload

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        """Open the file to append to; each process and each FILE_BYTES begin a new one with a warcinfo record."""
        if self._file is not None and self._file.tell() >= FILE_BYTES:
            self.close()
        if self._file is None:
            path = self._directory / f"crawl-{self._number:05d}.warc.gz"
            self._number += 1
            self._file = path.open("xb")
            writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
            info = {"software": self._software, "format": "WARC File Format 1.1"}
            writer.write_record(writer.create_warcinfo_record(path.name, info))
        return self._file
