"""Measure the speed and the memory of `clean`, on the articles of this checkout and on many times as many.

    python -m measurements.cleaning --copies 10 --processes 1 2

In each copy after the first, one article in four is unchanged, one has one word in a hundred exchanged (a near
duplicate), and two have one word in three exchanged (new text). Works in a temporary directory, with section `clean` of
params.yaml; prints a line for each number of processes.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sentence_distillery.corpus.schema import ARTICLES
from sentence_distillery.io.artifacts import read_json, table_parts, write_table
from sentence_distillery.io.contents import Counted
from stages import paths
from stages.params import PARAMS

EXCHANGED = (0.0, 0.01, 1 / 3, 1 / 3)  # share of the words, of one article in four each
_WORD = re.compile(r"[A-Za-z]{3,}")


def copies(parts: Sequence[Path], count: int) -> Iterator[pa.Table]:
    """Yield the articles of all parts, then `count` - 1 altered copies of them, one part in memory at a time."""
    for copy in range(count):
        for part in parts:
            table = pq.read_table(part, schema=ARTICLES)
            yield table if copy == 0 else _altered(table, random.Random(f"{copy} {part.name}"))


def _altered(table: pa.Table, generator: random.Random) -> pa.Table:
    texts = table["text"].to_pylist()
    words = _WORD.findall(" ".join(texts[:100]))

    def exchanged(text: str, share: float) -> str:
        return _WORD.sub(lambda word: generator.choice(words) if generator.random() < share else word[0], text)

    altered = [exchanged(text, share) if share else text for text, share in zip(texts, cycle(EXCHANGED), strict=False)]
    return table.set_column(table.schema.get_field_index("text"), ARTICLES.field("text"), pa.array(altered))


def prepare(directory: Path, count: int) -> float:
    """Write a workspace for `clean` below `directory`; returns the size of its texts in MB."""
    size, fingerprints = 0, directory / paths.EVALUATION_FINGERPRINTS
    for number, table in enumerate(copies(table_parts(paths.ARTICLES), count)):
        size += sum(len(text.encode()) for text in table["text"].to_pylist())
        write_table(directory / paths.ARTICLES / f"part-{number:05d}.parquet", table)
    fingerprints.parent.mkdir(parents=True)
    shutil.copy(paths.EVALUATION_FINGERPRINTS, fingerprints)
    return size / 1e6


def clean(directory: Path, processes: int) -> dict[str, Any]:
    """Run the stage in `directory` and return its counters and costs; outputs of an earlier run are removed before."""
    shutil.rmtree(directory / paths.SENTENCES, ignore_errors=True)
    os.sync()
    params = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    params["shards"] = {"processes": processes, "dask": None}
    (directory / PARAMS).write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    subprocess.run([sys.executable, "-m", "stages.corpus.clean"], cwd=directory, env=environment, check=True)
    counters: dict[str, Any] = read_json(directory / paths.COUNTERS / "clean.json", Counted)
    costs: dict[str, float] = read_json(directory / paths.COSTS / "clean.json", dict[str, float])
    return counters | costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=1, help="number of copies of the articles")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="values of shards.processes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        size = prepare(directory, options.copies)
        for processes in options.processes:
            counters = clean(directory, processes)
            print(
                f"{size:.1f} MB, {counters['total']:,} sentences, {counters['kept']:,} kept, {processes} processes: "
                f"{counters['seconds']:.1f} s, {size / counters['seconds']:.1f} MB/s, "
                f"{counters['peak_memory_mb']:.0f} MB of memory in the largest process",
                flush=True,
            )


if __name__ == "__main__":
    main()
