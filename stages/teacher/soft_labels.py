"""Stage `soft_labels`: the teacher's embedding of each corpus sentence and of each word (paper 1, section 3.2, step 1).

Embeddings are kept between runs in data/checkpoints/soft_labels: a shard for each part of the corpus, under the hash
of what they depend on, the teacher's files and the texts. DVC does not know that directory, so neither `dvc repro` nor
`dvc exp run` empties it: an interrupted run goes on from its last whole shard, and a corpus that has grown costs what
is new. A run that ends removes the shards that it did not use.
"""

import hashlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stages.artifacts import InputError, atomic_directory, read_table, table_parts, write_json, write_table
from stages.progress import track
from stages.stage import Counters, stage
from stages.student.tokenizer import bare, count_words, word_pieces
from stages.teacher.encoders import Encoder, load_encoder

SENTENCES = Path("data/corpus/sentences")
SOFT_LABELS = Path("data/soft_labels")
SHARDS = Path("data/checkpoints/soft_labels")
WORDS = "words.parquet"
TEACHER = "teacher.json"
READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])
CHUNK = 2_000  # sentences between two steps of the progress bar


def sentence_ids(document: pa.ChunkedArray, position: pa.ChunkedArray) -> pa.ChunkedArray:
    """document * 2^20 + position: one int64 that names a sentence of the corpus."""
    return pc.add(pc.shift_left(document, 20), position.cast(pa.int64()))


def soft_label_schema(dimension: int) -> pa.Schema:
    return pa.schema([("sentence", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def word_schema(dimension: int) -> pa.Schema:
    return pa.schema([("word", pa.string()), ("count", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def shard_schema(dimension: int) -> pa.Schema:
    return pa.schema([("embedding", pa.list_(pa.float16(), dimension))])


def embedding_column(vectors: NDArray[np.floating]) -> pa.FixedSizeListArray:
    """(rows, dimension) as a column of float16 lists."""
    return pa.FixedSizeListArray.from_arrays(vectors.astype(np.float16).ravel(), vectors.shape[1])


def embedding_array(column: pa.ChunkedArray) -> NDArray[np.float16]:
    """A column of float16 lists as a (rows, dimension) array."""
    dimension = column.type.list_size
    chunks = [chunk.flatten().to_numpy(zero_copy_only=True).reshape(-1, dimension) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.zeros((0, dimension), dtype=np.float16)


@dataclass
class Labeller:
    """An encoder that keeps what it has embedded."""

    encoder: Encoder
    batch_tokens: int
    used: set[Path]

    def embeddings(self, texts: list[str], description: str, counters: Counters) -> pa.ChunkedArray:
        """One float16 list for each text: from its shard where that is there and whole, by the teacher otherwise."""
        shard = SHARDS / f"{self._key(texts)}.parquet"
        self.used.add(shard)
        schema = shard_schema(self.encoder.dimension)
        with suppress(InputError):  # not there yet, or damaged
            kept = read_table(shard, schema)
            counters.details["shards kept"] = int(counters.details.get("shards kept", 0)) + 1
            return kept["embedding"]
        table = pa.Table.from_arrays([self._embed(texts, description)], schema=schema)
        write_table(shard, table)
        return table["embedding"]

    def _key(self, texts: list[str]) -> str:
        """Changes with whatever changes an embedding."""
        digest = hashlib.sha256(f"{self.encoder.fingerprint} mean {self.encoder.maximum_length}".encode())
        for text in texts:
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()

    def _embed(self, texts: list[str], description: str) -> pa.FixedSizeListArray:
        starts = range(0, len(texts), CHUNK)
        chunks = [self._embed_chunk(texts[start : start + CHUNK]) for start in track(starts, len(starts), description)]
        empty = np.empty((0, self.encoder.dimension), dtype=np.float16)
        return embedding_column(np.concatenate([empty, *chunks]))

    def _embed_chunk(self, texts: list[str]) -> NDArray[np.float16]:
        vectors = self.encoder.embed(self.encoder.token_ids(texts), self.batch_tokens)[0]
        finite = (np.abs(vectors) <= np.finfo(np.float16).max).all(axis=1)  # NaN is not <= either
        if not finite.all():
            raise InputError(
                f"The teacher {self.encoder.reference} gives no finite float16 embedding of "
                f"{texts[int(finite.argmin())][:80]!r}; check its weights, or change teacher.reference."
            )
        return vectors.astype(np.float16)

    def forget_unused(self) -> None:
        """Remove the shards that this run did not need, and what a killed run left half written."""
        for file in SHARDS.iterdir():
            if file not in self.used:
                file.unlink()


def sentence_labels(labeller: Labeller, part: Path, counters: Counters) -> pa.Table:
    """The soft labels of one part of the corpus."""
    table = read_table(part, READ)
    counters.keep(len(table))
    ids = sentence_ids(table["document"], table["position"])
    embeddings = labeller.embeddings(table["text"].to_pylist(), part.stem, counters)
    return pa.Table.from_arrays([ids, embeddings], schema=soft_label_schema(labeller.encoder.dimension))


def word_labels(labeller: Labeller, parts: list[Path], minimum_count: int, counters: Counters) -> pa.Table:
    """The teacher's embedding of each frequent word and each word piece, as if it were a sentence.

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
    counters.details["words"] = len(vocabulary)
    embeddings = labeller.embeddings([bare(word) for word in vocabulary], "words", counters)
    columns = [pa.array(vocabulary), pa.array([counts[word] for word in vocabulary]), embeddings]
    return pa.Table.from_arrays(columns, schema=word_schema(labeller.encoder.dimension))


def main() -> None:
    with stage("soft_labels", unit="sentences") as (params, counters), atomic_directory(SOFT_LABELS) as target:
        parts = table_parts(SENTENCES)
        labeller = Labeller(load_encoder(params.teacher), params.soft_labels.batch_tokens, used=set())
        for part in track(parts, len(parts), "soft labels"):
            write_table(target / part.name, sentence_labels(labeller, part, counters))
        write_table(target / WORDS, word_labels(labeller, parts, params.soft_labels.minimum_count, counters))
        card = {
            "reference": params.teacher.reference,
            "revision": params.teacher.revision,
            "sha256": labeller.encoder.sha256,
            "pooling": "mean",
            "maximum_length": params.teacher.maximum_length,
            "dimension": labeller.encoder.dimension,
        }
        write_json(target / TEACHER, card)
        labeller.forget_unused()


if __name__ == "__main__":
    main()
