"""All sets of texts, by name, as sets.toml has them."""

import tomllib
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.sets.benchmark import Benchmark, PinnedFile, Table
from sentence_distillery.evaluation.sets.readers import READERS

FILE = Path(__file__).with_name("sets.toml")


def benchmark(name: str, entry: Mapping[str, Any]) -> Benchmark:
    """Describe a set by its entry in sets.toml; raises ValueError if that lacks a field or has one that is unknown."""
    fields = dict(entry)
    sums, home = fields.pop("sha256", {}), fields.pop("home", None)
    unread, not_public = fields.pop("unread", []), fields.pop("not_public", [])
    homes = {file: f"{home}/{file}" for file in sums if home and file not in not_public}

    # An entry of sets.toml is code of this library, so a fault in it is a ValueError and not the user's.
    try:
        tables = tuple(_table(name, table) for table in fields.pop("tables", ()))
        read = fields.pop("files", [file for file in sums if tables and file not in unread])
        if fields.get("origin") == "package":
            fields["source"] = f"gensim {version('gensim')}, gensim/test/test_data"
        pins = tuple(PinnedFile(file, sha256, homes.get(file)) for file, sha256 in sums.items())
        return Benchmark(name, **fields, files=tuple(read), tables=tables, pins=pins)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{FILE}, set {name}: {error}") from error


def _table(name: str, entry: Mapping[str, Any]) -> Table:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    read = partial(READERS[fields.pop("reader")], **fields.pop("read"))
    return Table(fields.pop("name", name), read=read, **fields)


_ENTRIES = tomllib.loads(FILE.read_text(encoding="utf-8"))
SETS = {name: benchmark(name, _ENTRIES[name]) for name in sorted(_ENTRIES)}
BENCHMARKS = {name: each for name, each in SETS.items() if each.tables}
EXTERNAL = tuple(each for each in SETS.values() if each.external)

# Sets of each kind of task on whose labels nothing here is trained; measurements/suite.py scores encoders on them.
SUITE = {
    kind: tuple(name for name in _ENTRIES if SETS[name].suite == kind)
    for kind in dict.fromkeys(SETS[name].suite for name in _ENTRIES)
    if kind
}
