"""The command line: `sentence-distillery encode | similarity | distill | evaluate | compress | crawl | clean`.

Each command is a thin wrapper of one call of the library. It imports what it needs when it runs, so that `encode` and
`similarity` work with the core alone; the others name the extra that they need.
"""

import argparse
import logging
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Iterator

from sentence_distillery.io.artifacts import InputError

if TYPE_CHECKING:
    from sentence_distillery.encoder.static_encoder import StaticEncoder

PROGRAM = "sentence-distillery"

log = logging.getLogger("stages")

Command = Callable[[argparse.Namespace], None]
EXTRAS = {"distill": "distill", "evaluate": "distill", "compress": "distill", "crawl": "crawl", "clean": "corpus"}


def encode(options: argparse.Namespace) -> None:
    """Encode a file of texts, one a line."""
    from sentence_distillery.encoder.encode_file import encode_lines

    with _opened(options.input) as stream:
        totals = encode_lines(_encoder(options), stream, options.input, options.output)
    log.info(
        "%s lines in %s; zero vectors: %s blank, %s without a known word",
        *(f"{totals.lines:,}", options.output, f"{totals.blank:,}", f"{totals.unknown:,}"),
    )


def similarity(options: argparse.Namespace) -> None:
    """Print the cosine of two texts."""
    from sentence_distillery.encoder.encode_file import compare

    print(f"{compare(_encoder(options), *options.texts):.4f}")


def _encoder(options: argparse.Namespace) -> "StaticEncoder":
    from sentence_distillery import load

    return load(options.model)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """A file of bytes, or standard input for -."""
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error.strerror}; give a text file, or - for standard input."
        ) from error


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog=PROGRAM, description="Small, fast sentence encoders from your own text.")
    top.add_argument("--version", action="version", version=f"{PROGRAM} {_version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    return top


def _version() -> str:
    from sentence_distillery import __version__

    return __version__
