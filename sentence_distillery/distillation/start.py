"""The token vectors that a student's training starts from: the teacher's, estimates, or those of another student.

Each token starts from the teacher's embedding of it, less the mean of all tokens, which carries no information about a
word, times a / (a + p(w)). So frequent words start small (Arora et al. 2017), and a word that the corpus lacks keeps a
sensible vector.

A word that the teacher did not embed has an estimate from the sentences that have it:

    x_w = m + n / (n + 2) * (s_w - s)

s_w is the mean soft label of the n sentences with the word w, s that of all sentences, and m the mean of the words that
the teacher did embed, or s if it embedded none. A rare word says little about itself, hence the factor. A piece that no
sentence has gets the mean of the words that are cut into it, and m if there is none.

docs/how-to/choose-a-teacher.md has what came of it.

With another student as the start, its tokens join the vocabulary, so that the new one still knows words that its text
lacks. Each starts from its vector there, x'_w, which may have another dimension and another teacher. Ridge regression
on the corpus' sentences finds the map to this student's space:

    x_w = c x'_w M      M minimises sum_S || M^T u_S - t_S ||^2 + || M ||^2, with unit sums u_S and unit targets t_S

c makes the vectors as long as those that they replace, in the median.
"""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, UNKNOWN_ID, bare, is_term, is_word, static_tokenizer
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import option, setting
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

SMOOTHING = 1e-3  # a of the initial weights
SHRINKAGE = 2.0
ROWS = 20_000  # sentences whose labels are float32 at a time


def initial_table(vectors: Floats, counts: NDArray[np.int64]) -> Floats:
    """Compute the (1 + words, dimension) start: zero for the unknown token, then (vector - mean) * a / (a + p)."""
    weights = SMOOTHING / (SMOOTHING + counts / max(counts.sum(), 1))
    start = (vectors - vectors.mean(axis=0)) * weights[:, None]
    return np.concatenate([np.zeros((1, start.shape[1])), start]).astype(np.float32)


def load_start(name: str) -> StaticEncoder:
    """Load the encoder to start from; raises InputError if it cannot be read, or its vectors are not plain sums."""
    student = StaticEncoder.load(name)
    if student.linear is not None or student.hidden is not None:
        raise InputError(
            f"{setting('start_from', name)} has a layer after its sum of token vectors; give an encoder without."
        )
    return student


def further_tokens(student: StaticEncoder, words: list[str]) -> list[str]:
    """List the tokens of another student that are not among `words`, in its order, which is by frequency.

    Example:
        >>> other = StaticEncoder(static_tokenizer([UNKNOWN, "storm", "##s", "[PAD]"]), np.zeros((4, 2), np.float32))
        >>> further_tokens(other, ["storm"])
        ['##s']
    """
    known, vocabulary = set(words), student.tokenizer.get_vocab()
    listed = sorted(vocabulary, key=vocabulary.__getitem__)
    return [token for token in listed if token not in known and (is_word(bare(token)) or is_term(token))]


def started_from(
    student: StaticEncoder, words: list[str], start: Floats, tokens: TokenIds, targets: NDArray[np.float16]
) -> Floats:
    """Replace the vectors of the tokens that another student has by the vectors of that student, which are plain sums.

    `start`, (1 + words, dimension) float32, has the vectors to replace: the token id of a word is its place plus one.
    `targets`, (sentences, dimension) float16, are the projected soft labels of the sentences `tokens`. Returns an array
    like `start`, of its length in the median. Raises InputError if the sentences have none of its tokens.
    """
    vocabulary = student.tokenizer.get_vocab()
    places = np.array([UNKNOWN_ID, *(vocabulary.get(word, UNKNOWN_ID) for word in words)])
    shared = places != UNKNOWN_ID
    found = student.table[places] * shared[:, None]

    # Its space is mapped on the teacher's by least squares over the sentences.
    rows = range(min(ROWS, len(tokens)))
    sums, wanted = unit_rows(tokens.take(rows).sums(found)), unit_rows(targets[: len(rows)].astype(np.float32))
    mapped = found @ np.linalg.solve(sums.T @ sums + np.eye(sums.shape[1], dtype=np.float32), sums.T @ wanted)
    compared = mapped.any(axis=1) & (np.bincount(tokens.ids, minlength=len(start)) > 0)
    if not compared.any():
        raise InputError(f"The text has no token of the encoder of {option('start_from')}; give another one, or none.")

    # The training's rate is for vectors of the length of `start`.
    before, after = (np.median(np.linalg.norm(each[compared], axis=1)) for each in (start, mapped))
    return np.where(shared[:, None], mapped * (before / after), start).astype(np.float32)


def with_estimates(vectors: Floats, words: list[str], tokens: TokenIds, targets: NDArray[np.float16]) -> Floats:
    """Fill the zero rows of (words, dimension) word vectors, those that the teacher lacks.

    `words` have token ids from 1 on. `targets`, (sentences, dimension) float16, are the projected labels of `tokens`.
    """
    known = vectors.any(axis=1)
    if known.all():
        return vectors
    sums, counts = _sums(len(words) + 1, tokens, targets)
    middle = targets.mean(axis=0, dtype=np.float32)
    centre = vectors[known].mean(axis=0) if known.any() else middle
    seen = counts > 0
    filled: Floats = vectors.copy()

    # A word that some sentences have points where they point, less so if they are few.
    estimated = np.flatnonzero(~known & seen)
    factors = counts[estimated] / (counts[estimated] + SHRINKAGE)
    offsets = sums[estimated] / counts[estimated, None] - middle
    filled[estimated] = centre + factors[:, None] * offsets

    # A word that none has is the mean of its pieces.
    unseen = np.flatnonzero(~known & ~seen)
    evident = np.flatnonzero(known | seen)
    filled[unseen] = _of_pieces(
        [words[row] for row in unseen], [words[row] for row in evident], filled[evident], centre
    )
    return filled


def _sums(size: int, tokens: TokenIds, targets: NDArray[np.float16]) -> tuple[Floats, NDArray[np.int64]]:
    """Return for each word the sum of the labels of its occurrences, and their number, the unknown token apart."""
    from scipy.sparse import csr_array  # few teachers lack words

    sums = np.zeros((size, targets.shape[1]), dtype=np.float32)
    for start in range(0, len(tokens), ROWS):
        part = tokens.span(start, min(start + ROWS, len(tokens)))
        has = csr_array((np.ones(len(part.ids), np.float32), part.ids, part.offsets), shape=(len(part), size))
        sums += has.T @ targets[start : start + ROWS].astype(np.float32)
    return sums[1:], np.bincount(tokens.ids, minlength=size)[1:]


def _of_pieces(pieces: list[str], words: list[str], vectors: Floats, centre: Floats) -> Floats:
    """Return for each piece the mean of the words that are cut into it, or `centre`."""
    tokenizer = static_tokenizer([UNKNOWN, *pieces])
    cut = TokenIds.from_lists(encoding.ids for encoding in tokenizer.encode_batch(words))
    sums, counts = _sums(len(pieces) + 1, cut, vectors.astype(np.float16))
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centre).astype(np.float32)
