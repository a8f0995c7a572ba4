"""What the commands here share: arguments, log, refusals, and where and when a table was measured."""

import argparse
import csv
import datetime
import logging
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.runtime.machine import cores


def argument_parser(description: str, sources: str = "directories of the sets") -> argparse.ArgumentParser:
    """Return a parser of `source`, the directories of what is read."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help=sources)
    return parser


def parsed(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, lines: str = "%(name)s: %(message)s"
) -> argparse.Namespace:
    """Read the arguments, and let the program tell its progress in such lines."""
    logging.basicConfig(level=logging.INFO, format=lines, stream=sys.stderr)
    return parser.parse_args(arguments)


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """End the program with one line if its input is wrong."""
    try:
        yield
    except InputError as error:
        sys.exit(f"{name}: {error}")


def today() -> str:
    """Return the date, the cores and the machine, for the comment of a table."""
    return f"{datetime.date.today()}; {cores()} cores, {platform.machine()}"


def write_rows(target: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str], about: str = "") -> None:
    """Write a table as CSV, after a comment if there is one."""
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        if about:
            file.write(f"# {about}\n")
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
