"""Stage `parse`: the dependency tree of every sentence of the pair sets that `syntax.sets` names.

Trees are kept between runs in data/checkpoints/parse, a shard for each few thousand texts under the hash of the models
and the texts, so that an interrupted run goes on behind its last shard and a set that was parsed once is never parsed
again.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sentence_distillery.benchmarks.data import load_pairs, splits
from sentence_distillery.io.artifacts import InputError, atomic_directory, read_table, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.runtime.device import device
from sentence_distillery.runtime.machine import cores
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import map_shards, processes_here
from sentence_distillery.syntax.options import Syntax
from sentence_distillery.syntax.parser import Reason, ShardParser
from sentence_distillery.syntax.trees import DROPPED, SCHEMA, TREES, Tree, to_table

CHECKPOINTS = Path("data/checkpoints/parse")
SHARD = 2_000  # texts
UNPARSED = pa.schema([*SCHEMA, pa.field("reason", pa.string())])


def texts_of(name: str) -> list[str]:
    """Every different sentence of a pair set, in the order of its rows."""
    sets = [load_pairs(name, split) for split in splits(name)]  # type: ignore[arg-type]
    return list(dict.fromkeys(text for pairs in sets for text in (*pairs.sentences1, *pairs.sentences2)))


def shards_of(names: list[str]) -> Iterator[list[str]]:
    """The sentences of these sets in shards; one that stands in two sets counts with the first."""
    seen: set[str] = set()
    for name in names:
        new = [text for text in texts_of(name) if text not in seen]
        seen.update(new)
        yield from (new[start : start + SHARD] for start in range(0, len(new), SHARD))


@dataclass(frozen=True)
class Shelf:
    """The shards that are kept between runs."""

    params: Syntax
    models: str  # their fingerprint

    def path(self, texts: list[str]) -> Path:
        """The file of a shard; its name changes with whatever changes a tree."""
        digest = hashlib.sha256(f"{self.models} {self.params.maximum_words}".encode())
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return CHECKPOINTS / f"{digest.hexdigest()}.parquet"

    def has(self, texts: list[str]) -> bool:
        with suppress(InputError):  # not there yet, or damaged
            read_table(self.path(texts), UNPARSED)
            return True
        return False

    def put(self, texts: list[str], results: list[Tree | Reason]) -> None:
        """Keep a shard: rows as in data/trees, without tokens where there is a reason instead."""
        none = Tree([], [], [], [], [], [])
        table = to_table(texts, [result if isinstance(result, Tree) else none for result in results])
        reasons = [None if isinstance(result, Tree) else result for result in results]
        write_table(self.path(texts), table.append_column(UNPARSED.field("reason"), pa.array(reasons, pa.string())))

    def get(self, texts: list[str]) -> pa.Table:
        return read_table(self.path(texts), UNPARSED)


def parse_missing(shelf: Shelf, shards: list[list[str]], where: Shards) -> tuple[int, float]:
    """Parse the shards that are not kept; returns how many texts that were and how many it did in a second."""
    most = processes_here(where) if device().type == "cpu" else 1  # processes would share one GPU
    processes = max(1, min(most, len(shards)))  # one shard is not worth a process of its own
    parser = ShardParser(shelf.params.model, shelf.params.maximum_words, max(1, cores() // processes))
    texts, seconds = 0, 0.0
    with map_shards(parser, shards, where.model_copy(update={"processes": processes})) as parsed:
        for shard, (results, took) in zip(shards, track(parsed, len(shards), "shards"), strict=True):
            shelf.put(shard, results)
            texts, seconds = texts + len(shard), seconds + took
    return texts, texts / (seconds / processes) if seconds else 0.0


def write_trees(shelf: Shelf, shards: list[list[str]], counters: Counters) -> None:
    """The trees of all shards, and beside them what has none; without any shard a part without rows."""
    with atomic_directory(TREES) as target:
        lost = [DROPPED.empty_table()]
        for number, table in enumerate(map(shelf.get, shards) if shards else [UNPARSED.empty_table()]):
            parsed = table["reason"].is_null()
            write_table(target / f"part-{number:05}.parquet", table.filter(parsed).select(SCHEMA.names))
            lost.append(table.filter(pc.invert(parsed)).select(DROPPED.names))
            counters.keep(table["reason"].null_count)
        dropped = pa.concat_tables(lost)
        for reason in dropped["reason"].to_pylist():
            counters.drop(reason)
        write_table(target / "dropped.parquet", dropped)
