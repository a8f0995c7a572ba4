"""Stage `soft_labels`: the teacher's embedding of each corpus sentence and of each word (paper 1, section 3.2, step 1).

Shards follow the parts of data/corpus/sentences one to one. DVC keeps what an interrupted run left (`persist: true`);
a shard is kept when it was made from the same sentences by the same teacher, and made again otherwise.
"""

import hashlib
import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stages.artifacts import InputError, read_table, table_parts, write_json, write_table
from stages.progress import track
from stages.stage import Counters, stage
from stages.student.tokenizer import bare, count_words, word_pieces
from stages.teacher.encoders import Encoder, load_encoder

SENTENCES = Path("data/corpus/sentences")
SOFT_LABELS = Path("data/soft_labels")
WORDS = "words.parquet"
TEACHER = "teacher.json"
READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])
CHUNK = 2_000  # sentences between two steps of the progress bar

log = logging.getLogger("stages")


def sentence_ids(document: pa.ChunkedArray, position: pa.ChunkedArray) -> pa.ChunkedArray:
    """document * 2^20 + position: one int64 that names a sentence of the corpus."""
    return pc.add(pc.shift_left(document, 20), position.cast(pa.int64()))


def soft_label_schema(dimension: int) -> pa.Schema:
    return pa.schema([("sentence", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def word_schema(dimension: int) -> pa.Schema:
    return pa.schema([("word", pa.string()), ("count", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def embedding_column(vectors: NDArray[np.float32]) -> pa.FixedSizeListArray:
    """(rows, dimension) float32 as a column of float16 lists."""
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float16).ravel()), vectors.shape[1])


def embedding_array(column: pa.ChunkedArray) -> NDArray[np.float16]:
    """A column of float16 lists as a (rows, dimension) array."""
    dimension = column.type.list_size
    chunks = [chunk.flatten().to_numpy(zero_copy_only=True).reshape(-1, dimension) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.zeros((0, dimension), dtype=np.float16)


@dataclass(frozen=True)
class Labeller:
    """An encoder with the budget of its batches; `key` changes with whatever changes a soft label."""

    encoder: Encoder
    batch_tokens: int

    def key(self, ids: pa.ChunkedArray, texts: list[str]) -> str:
        digest = hashlib.sha256(f"{self.encoder.sha256} mean {self.encoder.maximum_length}".encode())
        digest.update(ids.to_numpy().tobytes())
        for text in texts:
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()

    def embed(self, texts: list[str], description: str) -> NDArray[np.float32]:
        starts = range(0, len(texts), CHUNK)
        vectors = [self._embed(texts[start : start + CHUNK]) for start in track(starts, len(starts), description)]
        return np.concatenate(vectors) if vectors else np.zeros((0, self.encoder.dimension), dtype=np.float32)

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        vectors = self.encoder.embed(self.encoder.token_ids(texts), self.batch_tokens)[0]
        finite = (np.abs(vectors) <= np.finfo(np.float16).max).all(axis=1)  # NaN is not <= either
        if not finite.all():
            raise InputError(
                f"The teacher {self.encoder.reference} gives no finite float16 embedding of "
                f"{texts[int(finite.argmin())][:80]!r}; check its weights, or change teacher.reference."
            )
        return vectors


def label_part(labeller: Labeller, part: Path, counters: Counters) -> None:
    """Write the soft labels of one part of the corpus, unless the shard is there already."""
    table = read_table(part, READ)
    texts = table.column("text").to_pylist()
    ids = sentence_ids(table.column("document"), table.column("position"))
    key, target = labeller.key(ids, texts), SOFT_LABELS / part.name
    counters.keep(len(texts))
    if _made_with(target, key):  # an interrupted run made this shard
        counters.details["shards kept"] = int(counters.details.get("shards kept", 0)) + 1
        return
    vectors = labeller.embed(texts, part.stem)
    labels = pa.Table.from_arrays(
        [ids, embedding_column(vectors)], schema=soft_label_schema(vectors.shape[1]).with_metadata({"key": key})
    )
    write_table(target, labels)


def _made_with(shard: Path, key: str) -> bool:
    """Whether `shard` can be read whole and was made with `key`."""
    try:
        table = pq.read_table(shard, partitioning=None, page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return False
    return bool((table.schema.metadata or {}).get(b"key") == key.encode())


def label_words(labeller: Labeller, parts: list[Path], minimum_count: int) -> int:
    """Write words.parquet: the teacher's embedding of each frequent word and each word piece, as if it were a sentence.

    Words come first, most frequent first; a piece that no text holds has count 0.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts += count_words(read_table(part, READ).column("text").to_pylist())
    frequent = sorted(
        (word for word in counts if counts[word] >= minimum_count), key=lambda word: (-counts[word], word)
    )
    known = set(frequent)
    pieces = word_pieces(labeller.encoder.tokenizer.backend_tokenizer, counts)
    vocabulary = frequent + [piece for piece in pieces if piece not in known]
    vectors = labeller.embed([bare(word) for word in vocabulary], "words")
    table = pa.table(
        [pa.array(vocabulary), pa.array([counts[word] for word in vocabulary]), embedding_column(vectors)],
        schema=word_schema(vectors.shape[1]),
    )
    write_table(SOFT_LABELS / WORDS, table)
    return len(vocabulary)


def remove_stale(parts: list[Path]) -> None:
    """Remove shards whose part of the corpus is gone, and partial files of a killed run."""
    known = {part.name for part in parts}
    for file in SOFT_LABELS.glob("*part*"):
        if file.name not in known:
            file.unlink()


def main() -> None:
    with stage("soft_labels", unit="sentences") as (params, counters):
        parts = table_parts(SENTENCES)
        labeller = Labeller(load_encoder(params.teacher), params.soft_labels.batch_tokens)
        SOFT_LABELS.mkdir(parents=True, exist_ok=True)
        remove_stale(parts)
        for part in track(parts, len(parts), "soft labels"):
            label_part(labeller, part, counters)
        counters.details["words"] = label_words(labeller, parts, params.soft_labels.minimum_count)
        card = {
            "reference": params.teacher.reference,
            "revision": params.teacher.revision,
            "sha256": labeller.encoder.sha256,
            "pooling": "mean",
            "maximum_length": params.teacher.maximum_length,
            "dimension": labeller.encoder.dimension,
        }
        write_json(SOFT_LABELS / TEACHER, card)


if __name__ == "__main__":
    main()
