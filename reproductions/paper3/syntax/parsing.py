"""Parse every sentence of some benchmark sets, shard by shard.

A `TreeCache` keeps the trees between runs: one file for each 2,000 texts, named by the hash of the models and the
texts. An interrupted run resumes after its last shard, and no set is parsed twice.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from reproductions.paper3.syntax.parser import Reason, ShardParser
from reproductions.paper3.syntax.trees import DROPPED, SCHEMA, Tree, to_table
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.io.artifacts import InputError, atomic_directory, read_table, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.runtime.device import device
from sentence_distillery.runtime.machine import cores
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import map_shards, processes_here

SHARD = 2_000  # texts
UNPARSED = pa.schema([*SCHEMA, pa.field("reason", pa.string())])


def texts_of(name: str, benchmarks: BenchmarkData) -> list[str]:
    """Return every different sentence of a set of pairs, in the order of its rows."""
    sets = [benchmarks.pairs(name, cast(Split, split)) for split in benchmarks.splits(name)]
    return list(dict.fromkeys(text for pairs in sets for text in (*pairs.sentences1, *pairs.sentences2)))


def shards_of(names: list[str], benchmarks: BenchmarkData) -> Iterator[list[str]]:
    """Yield the sentences of these sets in shards of at most SHARD; a sentence of two sets counts with the first."""
    seen: set[str] = set()
    for name in names:
        new = [text for text in texts_of(name, benchmarks) if text not in seen]
        seen.update(new)
        yield from (new[start : start + SHARD] for start in range(0, len(new), SHARD))


@dataclass(frozen=True)
class TreeCache:
    """The parsed shards, which a directory stores between runs."""

    directory: Path
    models: str  # their fingerprint
    maximum_words: int

    def path(self, texts: list[str]) -> Path:
        """Return the file of a shard; its name depends on everything that changes a tree."""
        digest = hashlib.sha256(f"{self.models} {self.maximum_words}".encode())
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return self.directory / f"{digest.hexdigest()}.parquet"

    def has(self, texts: list[str]) -> bool:
        """Tell whether a shard exists and is complete."""
        with suppress(InputError):  # does not exist yet, or is damaged
            read_table(self.path(texts), UNPARSED)
            return True
        return False

    def put(self, texts: list[str], results: list[Tree | Reason]) -> None:
        """Keep a shard: rows as of trees; a text without a tree has no tokens, and its reason."""
        none = Tree([], [], [], [], [], [])
        table = to_table(texts, [result if isinstance(result, Tree) else none for result in results])
        reasons = [None if isinstance(result, Tree) else result for result in results]
        write_table(self.path(texts), table.append_column(UNPARSED.field("reason"), pa.array(reasons, pa.string())))

    def get(self, texts: list[str]) -> pa.Table:
        """Read a shard, in the columns of UNPARSED; raises InputError if it does not exist."""
        return read_table(self.path(texts), UNPARSED)


def parse_missing(cache: TreeCache, shards: list[list[str]], models: Path, where: Shards) -> tuple[int, float]:
    """Parse shards and store the results.

    Args:
        cache: gets the results.
        shards: texts that the cache does not have yet.
        models: the directory of the parser's models.
        where: the processes, or the Dask cluster, that work on them.

    Returns:
        The number of parsed texts, and the number per second.
    """
    most = processes_here(where) if device().type == "cpu" else 1  # processes would share one GPU
    processes = max(1, min(most, len(shards)))  # a single shard does not need a separate process
    parser = ShardParser(str(models), cache.maximum_words, max(1, cores() // processes))
    texts, seconds = 0, 0.0
    with map_shards(parser, shards, where.model_copy(update={"processes": processes})) as parsed:
        for shard, (results, took) in zip(shards, track(parsed, len(shards), "shards"), strict=True):
            cache.put(shard, results)
            texts, seconds = texts + len(shard), seconds + took
    return texts, texts / (seconds / processes) if seconds else 0.0


def write_trees(cache: TreeCache, shards: list[list[str]], directory: Path, counters: Counters) -> None:
    """Write the trees of all shards, part by part, and dropped.parquet with each text without a tree and the reason.

    Without any shard there is one part without rows. Raises InputError if the cache lacks a shard.
    """
    with atomic_directory(directory) as target:
        lost = [DROPPED.empty_table()]
        for number, table in enumerate(map(cache.get, shards) if shards else [UNPARSED.empty_table()]):
            parsed = table["reason"].is_null()
            write_table(target / f"part-{number:05}.parquet", table.filter(parsed).select(SCHEMA.names))
            lost.append(table.filter(pc.invert(parsed)).select(DROPPED.names))
            counters.keep(table["reason"].null_count)
        dropped = pa.concat_tables(lost)
        for reason in dropped["reason"].to_pylist():
            counters.drop(reason)
        write_table(target / "dropped.parquet", dropped)
