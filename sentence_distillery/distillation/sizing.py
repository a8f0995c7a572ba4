"""A student of a given size: a search on texts decides whether it has fewer words, dimensions or bits.

    for each precision and share of the vocabulary    as many dimensions as the bytes allow
    each such student                                 recall@10: how many of the full student's ten nearest texts of a
                                                      text are among its own

The best one is taken, of equal ones the smallest. The texts need no labels. Held-out texts are compared if there are
some, else every other text, and the rest decides which words and directions a student that is tried keeps: a word that
only compared texts have may be missing, as it will be in texts to come. The student that is returned has those of all
texts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Literal

from sentence_distillery.distillation.options import Size
from sentence_distillery.encoder.compression import (
    Precision,
    compress,
    compressed,
    principal_directions,
    refuse_layers,
    stored_as,
    token_counts,
    with_fewer_words,
    without_cut_dimensions,
)
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.texts import as_texts, not_one
from sentence_distillery.evaluation.protocols.neighbours import recalls
from sentence_distillery.io.artifacts import InputError, write_rows
from sentence_distillery.io.errors import setting

SHARES = (1.0, 0.75, 0.5, 0.35, 0.25)  # of the vocabulary
LEAST = 16  # dimensions
NEIGHBOURS = 10
FEWEST = 2 * (NEIGHBOURS + 1)  # texts, of which half are compared
COMPARED = 2_000  # texts
# Bytes of a number in the table, and of the factor of a token that model2vec asks for
BYTES = {Precision.FLOAT32: (4, 0), Precision.FLOAT16: (2, 2), Precision.LEVELS: (2, 2), Precision.INT8: (1, 4)}
CHANNEL = 8  # bytes of a token in a lexical channel
OTHER_FILES = 12_000  # bytes, most of them the model card's
MEGABYTE = 1_000_000
COLUMNS = ("tokens", "dimension", "precision", "megabytes", "recall_at_10")  # the fields of a Trial, in a file

StoredAs = Literal["float32", "float16", "int8", "levels"]
PRECISIONS: tuple[StoredAs, ...] = ("int8", "levels")  # that are tried by default


@dataclass(frozen=True)
class Trial:
    """A student that was tried: tokens, numbers of a token's vector, storage, millions of bytes of its files.

    `recall` is the recall@10 of the full student's neighbours, in [0, 1].
    """

    vocabulary: int
    dimension: int
    precision: Precision
    megabytes: float
    recall: float


def fit_to_size(
    encoder: StaticEncoder,
    megabytes: float,
    texts: Iterable[str],
    precisions: Sequence[StoredAs] = PRECISIONS,
    held_out: Sequence[str] = (),
) -> tuple[StaticEncoder, list[Trial]]:
    """Find the student of at most a given size that agrees best with the full student on texts.

    Args:
        encoder: The full student. It must not have layers after the sum of its token vectors.
        megabytes: Of the files, in millions of bytes, above 0.
        texts: Texts of your domain, at least 22 different ones, better some thousands. Their words are kept, and up to
            2,000 of them are compared.
        precisions: How the table may be stored, see `compress`.
        held_out: Further texts, on which the students are compared in place of `texts`, if there are at least 11.

    Returns:
        The student, with a table of (vocabulary, dimension), and what was tried, the best first.

    Raises:
        InputError: If `megabytes` is not above 0, there are too few texts, the student has layers, or no student is as
            small.
        TypeError: If texts are one str, a table or a mapping, or have anything but texts.

    Example:
        >>> from sentence_distillery import load
        >>> texts = [f"The storm closed port {number} in {month}." for number in range(11) for month in ("May", "June")]
        >>> smaller, trials = fit_to_size(load(), 2.0, texts)
        >>> trials[0].megabytes <= 2.0 and smaller.dimension == trials[0].dimension
        True
    """
    refuse_layers(encoder)
    if not megabytes > 0:  # NaN, too
        raise InputError(f"{setting('megabytes', f'{megabytes:g}')} is not a size; give a number above 0.")
    encoder = without_cut_dimensions(encoder)

    # A text that is there twice would be its own nearest neighbour.
    listed, apart = (list(dict.fromkeys(as_texts(not_one(given)))) for given in (texts, held_out))
    if len(listed) < FEWEST:
        raise InputError(
            f"There are only {len(listed)} different texts; give at least {FEWEST}, better some thousands."
        )
    stored = stored_as(encoder)
    fixed, each = _sizes(encoder, stored)

    # It fits as it is, and every trial could only be worse.
    if (size := fixed + each * encoder.token_dimension) <= megabytes:
        return encoder, [Trial(len(encoder.stored), encoder.token_dimension, stored, size, 1.0)]

    # Words and directions are chosen on other texts than recall is measured on, or rare words of these would flatter
    # it.
    if len(apart) > NEIGHBOURS:
        compared, others = apart[:COMPARED], listed
    else:
        compared, others = listed[::2][:COMPARED], [*listed[1::2], *listed[::2][COMPARED:]]
    full = encoder.encode(compared)
    trials = []
    for smaller, precision, size in _candidates(encoder, megabytes, others, [Precision(name) for name in precisions]):
        recall = float(recalls(smaller.encode(compared), full, [NEIGHBOURS])[NEIGHBOURS].mean())
        trials.append(Trial(len(smaller.stored), smaller.token_dimension, precision, size, recall))
    if not trials:
        asked = setting("megabytes", f"{megabytes:g}")
        raise InputError(f"{asked} is too small for a student of {LEAST} dimensions; raise it.")

    # Of equally good sizes the smaller file wins. Then all texts choose the words, measured ones included.
    best, *_ = trials = sorted(trials, key=lambda trial: (-trial.recall, trial.megabytes))
    smaller = compress(
        encoder, dimension=best.dimension, vocabulary=best.vocabulary, precision=best.precision.value, texts=listed
    )
    return smaller, trials


def made_to_size(
    encoder: StaticEncoder, size: Size, texts: Iterable[str], held_out: Sequence[str]
) -> tuple[StaticEncoder, list[Trial]]:
    """Make a trained student as small as the options say: megabytes, or a number of tokens, and a precision.

    The words and directions of `texts`, those that it was trained on, are kept. Students are compared on the `held_out`
    ones if there are enough. Returns the student, and what was tried, the best first; the same student and nothing if
    no size is ordered. Raises InputError if there are too few texts, or no student is as small.
    """
    if size.megabytes is not None:
        precisions = [size.precision] if size.precision else PRECISIONS
        return fit_to_size(encoder, size.megabytes, texts, precisions, held_out)
    if size.vocabulary is None and size.precision is None:
        return encoder, []
    smaller = compress(encoder, vocabulary=size.vocabulary, precision=size.precision or "float32", texts=texts)
    return smaller, []


def trial_lines(trials: Iterable[Trial]) -> Iterator[str]:
    """Show trials as a table for a terminal, with tabs between the columns.

    Example:
        >>> for line in trial_lines([Trial(20_000, 96, Precision.INT8, 2.4, 0.71)]):
        ...     print(*line.split(), sep=" | ")
        recall@10 | megabytes | dimension | tokens | precision
        0.710 | 2.4 | 96 | 20,000 | int8
    """
    yield "recall@10\tmegabytes\tdimension\ttokens\tprecision"
    for trial in trials:
        size = f"{trial.megabytes:.1f}\t{trial.dimension}\t{trial.vocabulary:,}\t{trial.precision}"
        yield f"{trial.recall:.3f}\t{size}"


def write_trials(target: Path, trials: Iterable[Trial]) -> None:
    """Write a CSV file with a row for each trial, the best first; without trials, only its header."""
    write_rows(target, COLUMNS, (dict(zip(COLUMNS, astuple(trial), strict=True)) for trial in trials))


def _sizes(encoder: StaticEncoder, precision: Precision) -> tuple[float, float]:
    """Return the millions of bytes of an encoder's files without dimensions, and of each dimension."""
    number, factor = BYTES[precision]
    factor += 0 if encoder.lexical is None else CHANNEL
    tokens, tokenizer = len(encoder.stored), len(encoder.tokenizer.to_str().encode())
    return (tokens * factor + tokenizer + OTHER_FILES) / MEGABYTE, tokens * number / MEGABYTE


def _candidates(
    encoder: StaticEncoder, megabytes: float, texts: list[str], precisions: Sequence[Precision]
) -> Iterator[tuple[StaticEncoder, Precision, float]]:
    """Yield each student that fits, with its precision and its size in millions of bytes."""
    counts = token_counts(encoder, texts)
    for share in SHARES:
        try:
            words = encoder if share == 1 else with_fewer_words(encoder, int(share * len(counts)), counts)
        except InputError:
            return  # fewer than the pieces of words

        # Directions of the words that are left: others would keep what only rare words need.
        directions = principal_directions(words.table, token_counts(words, texts))
        for precision in precisions:
            fixed, each = _sizes(words, precision)
            dimension = min(int((megabytes - fixed) / each), encoder.token_dimension)
            if dimension >= LEAST:
                yield compressed(words, directions, dimension, precision), precision, fixed + each * dimension
