"""Soft labels: the teacher's embedding of each corpus sentence and of each word (paper 1, section 3.2, step 1).

If there are several teachers, their embeddings are concatenated.

Embeddings are cached between runs by text (teachers/label_store.py): of a corpus that has grown, only new text is
embedded. An interrupted run resumes after its last file of 2,000 texts.

A teacher that is a file of vectors may lack some texts. Their soft labels are zero: no student is trained on such a
sentence, and the vector of such a word is estimated from the sentences (distillation/start.py).
"""

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from sentence_distillery.distillation.glove import glove_words
from sentence_distillery.distillation.label_files import (
    READ,
    embedding_array,
    embedding_column,
    sentence_ids,
    soft_label_schema,
    word_schema,
)
from sentence_distillery.distillation.options import SoftLabels
from sentence_distillery.distillation.vocabulary import choose_terms, count_terms, count_words, with_terms, word_pieces
from sentence_distillery.encoder.tokenizer import bare, is_term, is_word
from sentence_distillery.io.artifacts import (
    InputError,
    has_columns,
    read_table,
    refuse_all_but,
    table_parts,
    write_json,
    write_table,
)
from sentence_distillery.io.checksums import is_there
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import option
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import map_shards
from sentence_distillery.teachers.functions import FunctionEncoder
from sentence_distillery.teachers.label_store import AT_ONCE, LabelStore, forget_old
from sentence_distillery.teachers.options import FunctionTeacher, Teacher
from sentence_distillery.teachers.teachers import Embedder, GivenTeacher, TextEncoder, load_teacher
from sentence_distillery.teachers.transformer import TransformerEncoder
from sentence_distillery.teachers.vectors import VectorTable

WORDS = "words.parquet"
TEACHER = "teacher.json"
HELD_OUT = "held_out.parquet"  # of a corpus as of its labels; corpus.schema has the name too, and is not imported
ABSENT = 0.1  # share of the sentences that may have no vector
NAMED = 3  # of them in a message
SHOWN = 60  # characters of one
CHUNK = 2_000  # texts to join at a time

Source = Callable[[], list[str]]  # reads some texts

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelDirectories:
    """The directories of the corpus, of its soft labels, and of the embeddings that are cached between runs."""

    sentences: Path
    soft_labels: Path
    kept: Path


def refuse_other_labels(directory: Path) -> None:
    """Raise InputError if a directory that labels are written to holds anything else."""
    refuse_all_but(directory, lambda entry: entry.name == TEACHER or has_columns(entry, ["embedding"]), "soft labels")


def joined(stores: list[LabelStore], texts: list[str]) -> pa.ChunkedArray:
    """Read the soft label of each text: its embedding, or those of several teachers, at unit length each.

    Each is divided by the root of their number, so that a cosine is the mean of the teachers' cosines. The soft label
    of a text for which one of them has no vector is zero.
    """
    if len(stores) == 1:
        return pa.chunked_array([embedding_column(stores[0].vectors(texts))])
    arrays = [store.vectors(texts) for store in stores]

    # In chunks, since all labels at once would be in memory twice.
    columns = []
    for start in range(0, len(texts) or 1, CHUNK):
        parts = [unit_rows(array[start : start + CHUNK].astype(np.float32)) for array in arrays]
        known = np.logical_and.reduce([part.any(axis=1) for part in parts])
        columns.append(embedding_column(known[:, None] * np.concatenate(parts, axis=1) / np.sqrt(len(parts))))
    return pa.chunked_array(columns)


def dimension(stores: list[LabelStore]) -> int:
    """Return the dimension of a soft label."""
    return sum(store.encoder.dimension for store in stores)


def part_texts(part: Path) -> list[str]:
    """Read the sentences of one part of the corpus."""
    return list(read_table(part, READ)["text"].to_pylist())


def sentence_labels(stores: list[LabelStore], part: Path) -> pa.Table:
    """Read the soft labels of one part of the corpus from the stores."""
    table = read_table(part, READ)
    ids = sentence_ids(table["document"], table["position"])
    embeddings = joined(stores, table["text"].to_pylist())
    return pa.Table.from_arrays([ids, embeddings], schema=soft_label_schema(dimension(stores)))


@dataclass(frozen=True)
class Counted:
    """The counts of a corpus: its texts, its words, and its candidates for terms."""

    texts: int
    words: Counter[str]
    signed: Counter[str]

    @classmethod
    def of(cls, parts: Iterable[Path]) -> "Counted":
        """Count the words of all parts."""
        number, words, signed = 0, Counter[str](), Counter[str]()
        for part in parts:
            texts = part_texts(part)
            number += len(texts)
            words.update(count_words(texts))  # += walks over all words so far
            signed.update(count_terms(texts))
        return cls(number, words, signed)

    def vocabulary(self, tokenizer: Tokenizer | None, settings: SoftLabels, own: Sequence[str] = ()) -> dict[str, int]:
        """Count each frequent word or term, each word piece and each additional word: they get soft labels, too.

        Words come first, most frequent first, additional ones last; an entry that no text has counts 0. An additional
        word is learnt from its soft label alone, and the student need not cut it into pieces. Without the teacher's
        tokenizer pieces are learnt from the words. `own` words and terms count as frequent.
        """
        terms = choose_terms(self.signed, self.words, settings.minimum_count)
        terms |= {token: self.signed[token] for token in own if is_term(token)}
        counts = with_terms(self.words, terms)
        wanted = set(own)
        frequent = [
            word
            for word in (*counts, *wanted.difference(counts))
            if word in terms or word in wanted or self.words[word] >= settings.minimum_count
        ]

        # Equal counts in the order of the alphabet, so that the order of the texts decides nothing.
        frequent.sort(key=lambda word: (-counts.get(word, 0), word))
        known = dict.fromkeys([*frequent, *word_pieces(tokenizer, self.words)])
        added = additional_words(known, settings.additional_words)
        return {word: counts.get(word, 0) for word in (*known, *added)}


def additional_words(known: Container[str], count: int) -> list[str]:
    """Return GloVe's most frequent words that are not `known` and no tokenizer cuts; InputError if it lacks some."""
    if count == 0:
        return []  # GloVe need not be installed
    words = list(itertools.islice((word for word in glove_words() if word not in known and is_word(word)), count))
    if len(words) < count:
        raise InputError(f"additional_words = {count:,}, but GloVe has only {len(words):,} further words; lower it.")
    return words


def word_labels(stores: list[LabelStore], words: dict[str, int]) -> pa.Table:
    embeddings = joined(stores, [bare(word) for word in words])
    columns = [pa.array(words.keys()), pa.array(words.values()), embeddings]
    return pa.Table.from_arrays(columns, schema=word_schema(dimension(stores)))


def card(teacher: GivenTeacher, encoder: TextEncoder) -> dict[str, object]:
    """Return the entries of a teacher for teacher.json; those of transformers are null in others."""
    about: dict[str, object] = {
        "reference": encoder.reference,
        "revision": None,
        "sha256": encoder.sha256,
        "pooling": None,
        "maximum_length": encoder.maximum_length,
        "dimension": encoder.dimension,
    }
    if isinstance(teacher, Teacher) and isinstance(encoder, TransformerEncoder):
        about |= {"revision": teacher.revision, "pooling": "+".join(encoder.modules.poolings)}
        asked = teacher.prompt is not None or teacher.prompt_name is not None
        return about | ({"prompt": encoder.modules.prompt} if asked else {})

    # What the user calls a function's state stands in for a commit.
    if isinstance(teacher, FunctionTeacher | FunctionEncoder):
        return about | {"revision": teacher.version, "kind": "function"}
    return about | {"kind": "file of vectors"}


def refuse_absent(encoder: TextEncoder, sources: Sequence[Source], words: Iterable[str]) -> None:
    """Say how many texts a file of vectors lacks; raises InputError if it lacks more than a tenth of the sentences.

    `sources` read the sentences; `words` are the words and pieces, as the teacher embeds them.
    """
    # A transformer or a function has a vector for any text.
    if not isinstance(encoder, VectorTable):
        return
    total, absent, named = 0, 0, list[str]()
    for source in sources:
        texts = source()
        missing = encoder.absent(texts)
        total, absent = total + len(texts), absent + len(missing)
        named += missing[: NAMED - len(named)]
    if absent:
        such = ", ".join(repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...") for text in named)
        message = f"{absent:,} of {total:,} sentences have no vector in {encoder.reference}, such as {such}"
        if absent > ABSENT * total:
            raise InputError(
                f"{message}; at most {ABSENT:.0%} may lack one. {option('texts_to_embed', '--list-texts FILE')} lists "
                "the texts to embed. If the vectors are of whole texts, skip the cleaning: "
                f"{option('clean=False', '--no-clean')}."
            )
        log.warning("%s; the student is not trained on these", message)

    # Words are another matter: a word without a vector can be estimated.
    listed = list(words)
    if unknown := len(encoder.absent(listed)):
        log.info(
            "%s of %s words have no vector; their vectors are estimated from sentences",
            f"{unknown:,}",
            f"{len(listed):,}",
        )


def embed_missing(store: LabelStore, sources: list[Source], embedder: Embedder, where: Shards) -> tuple[int, int]:
    """Embed the texts that have no vector yet, the longest first; return how many had one, and how many had none."""
    missing, taken = store.missing(source() for source in sources)
    log.info("%s texts are labelled already, %s are new", f"{taken:,}", f"{len(missing):,}")
    ordered = sorted(missing, key=lambda text: (-len(text), text))
    chunks = [ordered[start : start + AT_ONCE] for start in range(0, len(ordered), AT_ONCE)]
    # One process here, without regard to shards.processes: the encoder's parallel batches use all cores.
    with map_shards(embedder, chunks, where.model_copy(update={"processes": 1})) as embedded:
        for chunk, vectors in zip(chunks, track(embedded, len(chunks), "soft labels"), strict=True):
            store.add(chunk, vectors)
    return taken, len(missing)


def refuse_dimension(asked: int, most: int) -> None:
    """Raise InputError if a student is to have more dimensions than its teacher."""
    if asked > most:
        raise InputError(f"dimension = {asked}, but the teacher has only {most}; lower it to {most} or less.")


def label(
    teachers: Sequence[GivenTeacher],
    settings: SoftLabels,
    where: Shards,
    directories: LabelDirectories,
    counters: Counters,
    own: Sequence[str] = (),
    least: int = 1,
) -> None:
    """Write the soft labels of a corpus, of its held-out sentences and of its words.

    `directories.soft_labels` gets a `part-*.parquet` for each part of the corpus, held_out.parquet if some sentences
    are held out, words.parquet and teacher.json. No student is trained on the labels of held-out sentences.

    `where` says whether a cluster embeds. The counters count the sentences, those without a vector as dropped. `own`
    words and terms get their own soft label, too. `least` is the dimension of the student, which a soft label must
    have.

    Raises TeacherError if a teacher does not exist, or does not match its options; InputError if the teachers have
    fewer dimensions than the student, the corpus cannot be read, an embedding is not finite in float16, or a file of
    vectors lacks more than a tenth of the sentences.
    """
    parts = table_parts(directories.sentences)
    stores = [LabelStore(load_teacher(teacher), settings.precision, directories.kept) for teacher in teachers]
    refuse_dimension(least, dimension(stores))  # before they embed the corpus, which takes long

    # The first teacher cuts rare words into pieces, which get labels as well as the words, if it is a transformer.
    cutting = stores[0].encoder
    tokenizer = cutting.tokenizer.backend_tokenizer if isinstance(cutting, TransformerEncoder) else None
    counted = Counted.of(parts)
    words = counted.vocabulary(tokenizer, settings, own)
    log.info("%s texts, %s words", f"{counted.texts:,}", f"{len(words):,}")

    # Held-out sentences get labels, too: the stage `domain` compares encoders on them.
    held_out = [path for path in (directories.sentences / HELD_OUT,) if is_there(path) and part_texts(path)]
    sources: list[Source] = [partial(part_texts, part) for part in (*parts, *held_out)]

    # A file of vectors lacks texts or not; that is known before any other teacher works for hours.
    for store in stores:
        refuse_absent(store.encoder, sources, map(bare, words))
    sources.append(lambda: [bare(word) for word in words])
    counters.costs |= _embed_all(teachers, stores, sources, settings, where)

    counters.details["words"] = len(words)
    _write(stores, parts, held_out, words, directories.soft_labels, counters)
    first, *additional = [card(teacher, store.encoder) for teacher, store in zip(teachers, stores, strict=True)]
    about = first | {"dimension": dimension(stores), "additional": additional}
    write_json(directories.soft_labels / TEACHER, about)

    # Only after success, or an interrupted run would lose the vectors that it is to go on with.
    forget_old(directories.kept)


def _embed_all(
    teachers: Sequence[GivenTeacher],
    stores: Sequence[LabelStore],
    sources: list[Source],
    settings: SoftLabels,
    where: Shards,
) -> dict[str, float]:
    """Embed all texts by each teacher; return how many vectors were made, and how many were there."""
    taken, made = 0, 0
    for teacher, store in zip(teachers, stores, strict=True):
        fingerprint = store.encoder.fingerprint
        embedder = Embedder(store.encoder, teacher, fingerprint, settings.batch_tokens, settings.precision)
        old, new = embed_missing(store, sources, embedder, where)
        taken, made = taken + old, made + new
    return {"labels made": made, "labels kept": taken}


def _write(
    stores: list[LabelStore],
    parts: Iterable[Path],
    held_out: Iterable[Path],
    words: dict[str, int],
    target: Path,
    counters: Counters,
) -> None:
    """Write the labels of parts, held-out sentences and words; count the sentences, those without one as dropped."""
    for part in parts:
        labels = sentence_labels(stores, part)
        known = int(embedding_array(labels["embedding"]).any(axis=1).sum())
        counters.keep(known)
        if known < len(labels):  # only a file of vectors lacks some
            counters.drop("no vector", len(labels) - known)
        write_table(target / part.name, labels)
    for path in held_out:
        write_table(target / path.name, sentence_labels(stores, path))
    write_table(target / WORDS, word_labels(stores, words))
