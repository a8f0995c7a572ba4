"""Soft labels: the teacher's embedding of each corpus sentence and of each word (paper 1, section 3.2, step 1).

There may be several teachers, whose embeddings then stand side by side.

Embeddings are kept between runs in a directory of `data/checkpoints`: a shard for each part of the corpus, under the
hash of what they depend on, the teacher's files and the texts. DVC does not know that directory, so neither `dvc repro`
nor `dvc exp run` empties it: an interrupted run goes on from its last whole shard, and a corpus that has grown costs
what is new. A run that ends removes the shards that it did not use.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.distillation.options import SoftLabels
from sentence_distillery.encoder.tokenizer import bare, count_words, is_word, word_pieces
from sentence_distillery.encoders.embedder import Embedder
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.transformer import Encoder, load_encoder
from sentence_distillery.io.artifacts import InputError, read_table, table_parts, write_json, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import map_shards
from sentence_distillery.word_vectors.glove import glove_words

SENTENCES = Path("data/corpus/sentences")
SOFT_LABELS = Path("data/soft_labels")
WORDS = "words.parquet"
TEACHER = "teacher.json"
READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])
CHUNK = 2_000  # sentences that are embedded, or joined, at a time; batches of similar length are made within

Source = Callable[[], list[str]]  # reads the texts of one shard


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


@dataclass(frozen=True)
class Shelf:
    """The shards of one teacher, those kept and those made in this run."""

    encoder: Encoder
    precision: Precision
    directory: Path
    used: set[Path] = field(default_factory=set)

    def _shard(self, texts: list[str]) -> Path:
        """Its name changes with whatever changes an embedding."""
        how = "mean" if self.precision == "float32" else f"mean {self.precision}"
        digest = hashlib.sha256(f"{self.encoder.fingerprint} {how} {self.encoder.maximum_length}".encode())
        for text in texts:
            digest.update(text.encode() + b"\0")
        return self.directory / f"{digest.hexdigest()}.parquet"

    def has(self, texts: list[str]) -> bool:
        """Whether the shard of `texts` is there and whole, or asked for before; from now on it counts as used."""
        shard = self._shard(texts)
        if shard in self.used:
            return True
        self.used.add(shard)
        with suppress(InputError):  # not there yet, or damaged
            read_table(shard, shard_schema(self.encoder.dimension))
            return True
        return False

    def chunks(self, texts: list[str]) -> list[tuple[Path, list[str]]]:
        """The texts of a shard in pieces, each with the name of the shard."""
        shard = self._shard(texts)
        return [(shard, texts[start : start + CHUNK]) for start in range(0, len(texts) or 1, CHUNK)]

    def fill(self, chunks: Iterable[tuple[Path, NDArray[np.float16]]]) -> None:
        """Write each shard as soon as its last chunk is there."""
        for shard, group in itertools.groupby(chunks, lambda chunk: chunk[0]):
            column = embedding_column(np.concatenate([vectors for _, vectors in group]))
            write_table(shard, pa.Table.from_arrays([column], schema=shard_schema(self.encoder.dimension)))

    def embeddings(self, texts: list[str]) -> pa.ChunkedArray:
        """One float16 list for each text, from its shard."""
        return read_table(self._shard(texts), shard_schema(self.encoder.dimension))["embedding"]


def forget_unused(shelves: list[Shelf], directory: Path) -> None:
    """Remove the shards that this run did not need, and what a killed run left half written."""
    used = set().union(*(shelf.used for shelf in shelves))
    for file in directory.iterdir():
        if file not in used:
            file.unlink()


def joined(shelves: list[Shelf], texts: list[str]) -> pa.ChunkedArray:
    """The soft label of each text: its embedding, or those of several teachers side by side, each of unit length.

    Each is divided by the root of their number, so that a cosine is the mean of the teachers' cosines.
    """
    if len(shelves) == 1:
        return shelves[0].embeddings(texts)
    arrays = [embedding_array(shelf.embeddings(texts)) for shelf in shelves]
    columns = []
    for start in range(0, len(texts) or 1, CHUNK):
        parts = [unit_rows(array[start : start + CHUNK].astype(np.float32)) for array in arrays]
        columns.append(embedding_column(np.concatenate(parts, axis=1) / np.sqrt(len(parts))))
    return pa.chunked_array(columns)


def dimension(shelves: list[Shelf]) -> int:
    return sum(shelf.encoder.dimension for shelf in shelves)


def part_texts(part: Path) -> list[str]:
    return list(read_table(part, READ)["text"].to_pylist())


def sentence_labels(shelves: list[Shelf], part: Path) -> pa.Table:
    """The soft labels of one part of the corpus."""
    table = read_table(part, READ)
    ids = sentence_ids(table["document"], table["position"])
    embeddings = joined(shelves, table["text"].to_pylist())
    return pa.Table.from_arrays([ids, embeddings], schema=soft_label_schema(dimension(shelves)))


def vocabulary(parts: list[Path], encoder: Encoder, settings: SoftLabels) -> dict[str, int]:
    """The count of each frequent word, each word piece and each further word: they get a soft label as if sentences.

    Words come first, most frequent first, further ones last; what no text holds has count 0. A further word is learnt
    from its soft label alone, and spares the student pieces.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts += count_words(part_texts(part))
    frequent = sorted(
        (word for word in counts if counts[word] >= settings.minimum_count), key=lambda word: (-counts[word], word)
    )
    known = dict.fromkeys([*frequent, *word_pieces(encoder.tokenizer.backend_tokenizer, counts)])
    return {word: counts[word] for word in (*known, *additional_words(known, settings.additional_words))}


def additional_words(known: Container[str], count: int) -> list[str]:
    """GloVe's most frequent words that are not `known` and no tokenizer cuts; raises InputError where they are few."""
    if count == 0:
        return []  # and GloVe need not be there
    found = list(itertools.islice((word for word in glove_words() if word not in known and is_word(word)), count))
    if len(found) < count:
        raise InputError(f"soft_labels.additional_words = {count:,}, but GloVe has only {len(found):,} more; lower it.")
    return found


def word_labels(shelves: list[Shelf], words: dict[str, int]) -> pa.Table:
    embeddings = joined(shelves, [bare(word) for word in words])
    columns = [pa.array(words.keys()), pa.array(words.values()), embeddings]
    return pa.Table.from_arrays(columns, schema=word_schema(dimension(shelves)))


def card(teacher: Teacher, encoder: Encoder) -> dict[str, object]:
    """What the teacher was."""
    return {
        "reference": teacher.reference,
        "revision": teacher.revision,
        "sha256": encoder.sha256,
        "pooling": "mean",
        "maximum_length": teacher.maximum_length,
        "dimension": encoder.dimension,
    }


def embed_missing(shelf: Shelf, sources: list[Source], embedder: Embedder, where: Shards) -> int:
    """Make the shards that are not there; returns how many were."""
    missing: list[Source] = []
    total = 0
    for source in sources:
        texts = source()
        if not shelf.has(texts):
            missing.append(source)
            total += len(shelf.chunks(texts))
    chunks = (chunk for source in missing for chunk in shelf.chunks(source()))
    # One process here, whatever shards.processes says: the encoder's batches side by side fill the cores.
    with map_shards(embedder, chunks, where.model_copy(update={"processes": 1})) as embedded:
        shelf.fill(track(embedded, total, "soft labels"))
    return len(sources) - len(missing)


def label(
    teachers: list[Teacher],
    settings: SoftLabels,
    precision: Precision,
    where: Shards,
    counters: Counters,
    target: Path,
    kept: Path,
) -> None:
    """Write the soft labels of the corpus and of its words to `target`; `kept` has the shards between runs."""
    parts = table_parts(SENTENCES)
    shelves = [Shelf(load_encoder(teacher), precision, kept) for teacher in teachers]
    words = vocabulary(parts, shelves[0].encoder, settings)
    sources: list[Source] = [partial(part_texts, part) for part in parts]
    sources.append(lambda: [bare(word) for word in words])
    found = 0
    for teacher, shelf in zip(teachers, shelves, strict=True):
        embedder = Embedder(shelf.encoder, teacher, shelf.encoder.fingerprint, settings.batch_tokens, precision)
        found += embed_missing(shelf, sources, embedder, where)
    counters.details["shards kept"] = found
    counters.details["words"] = len(words)
    for part in parts:
        labels = sentence_labels(shelves, part)
        counters.keep(len(labels))
        write_table(target / part.name, labels)
    write_table(target / WORDS, word_labels(shelves, words))
    first, *further = [card(teacher, shelf.encoder) for teacher, shelf in zip(teachers, shelves, strict=True)]
    write_json(target / TEACHER, first | {"dimension": dimension(shelves), "additional": further})
    forget_unused(shelves, kept)
