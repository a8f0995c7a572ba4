"""A pool of held-out texts that stays the same as the corpus grows: drawn once, and saved in a file.

Figures on texts depend on how many there are: among 448 texts the ten nearest are found more easily than among 648.
So editions of a corpus are comparable only on the same texts. A share of each edition cannot be the same texts, and a
hash of each text alone cannot choose as many of them next week. The file has the texts themselves, so that the pool
outlives an edition that does not have them any more.

    document,position,text
    17,0,The storm closed the port.

No model is trained on a document that equals or nearly repeats one of the pool, or on one of its sentences
(`decisions.RULES`, reason "held out"). A file without a row is no pool.
"""

import csv
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from sentence_distillery.corpus.cleaning import clean
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.schema import HELD_OUT, HELD_OUT_FILE
from sentence_distillery.io.artifacts import atomic_file, read_rows, read_table
from sentence_distillery.runtime.options import Shards

NUMBERS = ("document", "position")


def read_pool(file: Path) -> pa.Table | None:
    """Read a pool, HELD_OUT; None if the file has no row. Raises InputError."""
    rows = read_rows(file, {name: partial(_number, name) for name in NUMBERS}, [HELD_OUT.names])
    typed = [row | {name: _number(name, row[name]) for name in NUMBERS} for row in rows]
    return pa.Table.from_pylist(typed, schema=HELD_OUT) if rows else None


def _number(column: str, text: str) -> int:
    """Read a number of a pool, 0 or more; raises ValueError if it is none, or beyond what the column holds."""
    largest = int(np.iinfo(HELD_OUT.field(column).type.to_pandas_dtype()).max)
    if not 0 <= (number := int(text)) <= largest:
        raise ValueError(f"{text} is not between 0 and {largest:,}")
    return number


def draw_pool(articles: pa.Table, options: Clean, held_out: HeldOut, file: Path, where: Shards) -> int:
    """Clean the first edition of a corpus, hold out a share, write that as a pool, and return the number of its texts.

    Raises InputError if no sentence is left, or the file cannot be written.
    """
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "sentences"
        clean(articles, target, options, where=where, held_out=held_out)
        pool = read_table(target / HELD_OUT_FILE, HELD_OUT)
    write_pool(pool, file)
    return len(pool)


def write_pool(pool: pa.Table, file: Path) -> None:
    """Write a pool, HELD_OUT; raises InputError if that fails."""
    with atomic_file(file) as partial, partial.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, HELD_OUT.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(pool.to_pylist())
