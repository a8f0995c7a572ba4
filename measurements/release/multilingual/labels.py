"""The teacher's vectors of texts, in shards: an interrupted run goes on from the last one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats

SHARD: Final = 2_000  # texts; some ten seconds of a core
Embed = Callable[[list[str]], Floats]


def label(texts: Sequence[str], directory: Path, embed: Embed) -> NDArray[np.float16]:
    """Embed texts by shards, (texts, dimension), and keep each shard in a file; other texts need another directory.

    Raises InputError if a shard has another number of vectors than texts.
    """
    parts = []
    for start in range(0, len(texts), SHARD):
        shard = list(texts[start : start + SHARD])
        file = directory / f"{start:08}.npy"
        if not file.exists():
            with atomic_file(file) as partial, partial.open("wb") as opened:
                np.save(opened, embed(shard).astype(np.float16))
        vectors = np.load(file)
        if len(vectors) != len(shard):
            raise InputError(f"{file} has {len(vectors):,} vectors for {len(shard):,} texts; delete {directory}.")
        parts.append(vectors)
    return np.concatenate(parts)
