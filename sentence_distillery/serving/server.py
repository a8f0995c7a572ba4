"""The server: it listens at 127.0.0.1 alone, and bounds connections, headers and the time that they may take."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from sentence_distillery.corpus.tables.formats import Row
from sentence_distillery.corpus.tables.reading import Reading, check_options, files_to_read, read_texts
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.serving.app import application
from sentence_distillery.serving.collection import SENTENCES, SOFT_LABELS, Collection
from sentence_distillery.serving.connections import Connection

HOST = "127.0.0.1"
KEY = "SENTENCE_DISTILLERY_KEY"  # of the environment
SHORTEST_KEY = 8


def read_collection(encoder: StaticEncoder, texts: list[Path], reading: Reading, limit: int) -> Collection:
    """Read up to `limit` texts to explore: files and directories, or the working directory of `distill`.

    A line of a .txt file is a text, and so is a row of other files. Raises InputError if a file cannot be read, there
    is no text, or an option applies to none of the files.
    """
    if limit < 1:
        raise InputError(f"The limit is {limit}; give a maximum number of texts of 1 or more.")
    if len(texts) == 1 and all((texts[0] / name).is_dir() for name in (SENTENCES, SOFT_LABELS)):
        check_options(reading, {"text"})
        return Collection.labelled(encoder, texts[0], limit)
    files = files_to_read(texts, reading)
    check_options(reading, {format for _, format in files})
    return Collection.of_rows(encoder, _rows(files, reading), limit)


def _rows(files: list[tuple[Path, str]], reading: Reading) -> Iterator[tuple[str, Row]]:
    """Yield each text, and the other columns of its row."""
    for path, format in files:
        for text, row in read_texts(path, format, reading, by_line=True):
            row.pop(reading.column, None)
            yield text, row


def checked_key(given: str | None) -> str | None:
    """Return the key to ask for: the given one, that of the environment, or none.

    Raises InputError if the key is too short, or not of printable ASCII.
    """
    key = os.environ.get(KEY) if given is None else given
    if key is not None and not (len(key) >= SHORTEST_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            f"The key has {len(key)} characters; give at least {SHORTEST_KEY}, all of them ASCII and none a space."
        )
    return key


def serve(collection: Collection, name: str, port: int, key: str | None, ready: Callable[[str], None]) -> None:
    """Serve until the process is interrupted; `ready` is called with the page's address once the port is taken.

    `port` 0 takes a free one. Raises InputError if the port cannot be taken.
    """
    try:
        listener = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"Port {port} cannot be taken: {error}; give --port 0 for a free one.") from error

    # The port is known only now if the system has chosen it, and the guard needs it for the names of the host.
    with listener:
        port = listener.getsockname()[1]
        hosts = [f"{host}:{port}" for host in (HOST, "localhost")]
        fragment = "" if key is None else f"#{key}"
        ready(f"http://{HOST}:{port}/{fragment}")
        app = application(collection, name, hosts, key)
        uvicorn.Server(_config(app)).run(sockets=[listener])


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        http=Connection,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
    )
