"""A smaller student after training: fewer dimensions, fewer bits, fewer words.

Fewer dimensions: the table X (vocabulary, D) is turned by the eigenvectors V of

    sum_w sqrt(n_w) x_w x_w^T,    n_w: how often the token w occurs in the corpus

and its first d columns are kept. Nothing is centred: a mean that is subtracted from the tokens would change the cosine
of their sums. With d = D it is a rotation, which changes no cosine. The square root was chosen on STS-B dev and SICK
trial: the counts themselves leave rare words without a direction, and equal weights give rare words too much.

Fewer bits: 255 levels, one step for the whole table,

    k_w = round(x_w / s),  s = max |x| / 127

A sentence's direction does not depend on s. A step for each row or column is not better: STS-B dev Pearson x 100 is
84.33 before, 84.34 with a step a row or a column, 84.32 with one. And the libraries that load a table do not support
steps.

Fewer words: those that are rarest in given texts go. Word pieces and single characters stay, and the words that have
gone are cut into them.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sentence_distillery.encoder.lexical import LexicalChannel
from sentence_distillery.encoder.model import LEVELS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.texts import as_texts, is_whole, not_one
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.io.errors import InputError, option, setting
from sentence_distillery.io.ragged import Floats

_NOTE = "> Made smaller by sentence-distillery:"
LARGEST = 2.0  # a power of two above the largest level in float16, which is 127 / 64, so every level is exact
STEP = LARGEST / (LEVELS + 1)


class Precision(StrEnum):
    """How a table is stored.

    - float32, float16: unchanged.
    - int8: 255 levels in a byte each; for the project's own encoder and model2vec. sentence-transformers loads it from
      version 6.2 on.
    - levels: the 255 levels of int8 in float16, so that every version can load them: two bytes each on disk, one in a
      wheel or in git, which compress them.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"
    LEVELS = "levels"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InputError(f"{setting('precision', value)}; it is one of {', '.join(cls)}.")


def stored_as(encoder: StaticEncoder) -> Precision:
    """Tell how the table of an encoder is stored; `levels` is float16 with one step."""
    dtype = encoder.stored.dtype.name
    return Precision.LEVELS if encoder.step is not None and dtype == "float16" else Precision(dtype)


def values(encoder: StaticEncoder) -> Floats:
    """Return the table to be trained further, (tokens, dimension) float32; levels of int8 become those of `levels`.

    Levels up to 127 have the same cosines, but a learning rate is one for values of a few units at most.
    """
    return encoder.table * np.float32(STEP) if encoder.stored.dtype == np.int8 else encoder.table


def principal_directions(table: Floats, counts: NDArray[np.int64]) -> Floats:
    """Compute the principal directions of a table of token vectors.

    Args:
        table: (vocabulary, dimension) float32.
        counts: (vocabulary,) int64, at least 0, how often each token occurs in the corpus.

    Returns:
        (dimension, dimension) float32, one direction per column, the largest first, its largest entry positive.

    Example:
        >>> table, counts = np.array([[0, 3], [1, 0]], np.float32), np.array([4, 1])
        >>> np.abs(principal_directions(table, counts)).tolist()
        [[0.0, 1.0], [1.0, 0.0]]

    Reference:
        Eckart and Young 1936, The Approximation of One Matrix by Another of Lower Rank,
        https://doi.org/10.1007/BF02288367
    """
    weighted = table * np.sqrt(counts)[:, None]
    _, directions = np.linalg.eigh((weighted.T @ table).astype(np.float64))
    directions = directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(np.take_along_axis(directions, largest[None], axis=0))
    return np.asarray(directions * signs, dtype=np.float32)


def levels(table: Floats) -> NDArray[np.int8]:
    """Round a table to 255 levels of one step.

    Args:
        table: (vocabulary, dimension) float32, finite.

    Returns:
        (vocabulary, dimension) int8 in [-127, 127]; the largest value of the table becomes 127 or -127.

    Example:
        >>> levels(np.array([[0.5, -1.0]], np.float32)).tolist()
        [[64, -127]]

    Reference:
        Wu, Judd, Zhang, Isaev and Micikevicius 2020, Integer Quantization for Deep Learning Inference: Principles and
        Empirical Evaluation, https://arxiv.org/abs/2004.09602
    """
    step = max(float(np.abs(table).max(initial=0.0)), 1e-30) / LEVELS
    rounded: NDArray[np.int8] = np.rint(table / np.float32(step)).astype(np.int8)
    return rounded


def compress(
    encoder: StaticEncoder,
    *,
    dimension: int | None = None,
    vocabulary: int | None = None,
    precision: Literal["float32", "float16", "int8", "levels"] = "int8",
    texts: Iterable[str] | None = None,
) -> StaticEncoder:
    """Make a static student smaller: fewer dimensions, fewer bits, fewer words.

    Args:
        encoder: The student. It must not have layers after the sum of its token vectors; a lexical channel, prompts and
            the model card are kept. Dimensions that its `truncate_dim` cuts off stay off.
        dimension: Of the new token vectors, from 1 to that of the student's; None keeps all.
        vocabulary: How many tokens are kept, at least all pieces of words; None keeps all. The words that are rarest in
            `texts` go, and are cut into pieces from then on.
        precision: How each number is stored: 4 bytes in "float32", 2 in "float16", 1 in "int8"; "levels" has the 255
            levels of "int8" in float16, so that every version of sentence-transformers loads it.
        texts: Texts of your domain. The words and directions that they need are kept; None counts every token once,
            and takes the order of the vocabulary for that of frequency.

    Returns:
        A student with a table of (vocabulary, dimension), of the dtype float32, float16 or int8.

    Raises:
        InputError: If the dimension, the vocabulary or the precision is out of its range, the student has layers, or it
            knows no word of the texts.
        TypeError: If `texts` is one str, a table or a mapping, or has anything but texts.

    Example:
        >>> from sentence_distillery import load
        >>> smaller = compress(load(), dimension=64)
        >>> smaller.dimension, smaller.stored.dtype
        (64, dtype('int8'))
    """
    refuse_layers(encoder)
    encoder = without_cut_dimensions(encoder)
    full, cut = encoder.token_dimension, encoder.truncate_dim
    kept = full if dimension is None else dimension
    if not is_whole(kept, 1, full):
        raise InputError(f"{setting('dimension', kept)}; the token vectors have {full}, so give 1 to {full}.")
    listed = None if texts is None else as_texts(not_one(texts))

    # Words first: the directions are those of the words that stay.
    if vocabulary is not None:
        encoder = with_fewer_words(encoder, vocabulary, token_counts(encoder, listed))
    counts = token_counts(encoder, listed)
    smaller = compressed(encoder, principal_directions(encoder.table, counts), kept, Precision(precision))
    if cut is not None:  # within the lexical channel, which follows the table
        smaller.truncate_dim = kept + cut - full
    return smaller


def without_cut_dimensions(encoder: StaticEncoder) -> StaticEncoder:
    """Remove the dimensions of the table that `truncate_dim` cuts off, and a lexical channel behind them."""
    cut = encoder.truncate_dim
    if cut is None or cut > encoder.token_dimension:
        return encoder
    return _changed(encoder, encoder.tokenizer, encoder.stored[:, :cut], encoder.step, None)


def _changed(
    encoder: StaticEncoder,
    tokenizer: Tokenizer,
    stored: NDArray[Any],
    step: float | None,
    lexical: LexicalChannel | None,
) -> StaticEncoder:
    """Return a student with another table, and the origin, the prompts and the card of `encoder`."""
    return StaticEncoder(
        tokenizer,
        stored,
        step=step,
        made_from=encoder.model.origin,
        lexical=lexical,
        lexical_weight=encoder.lexical_weight if lexical else 0.0,
        search_weight=encoder.search_weight if lexical else 0.0,
        rules=encoder.rules,
        prompts=encoder.model.prompts,
        card=None if encoder.card is None else _noted(encoder.card, stored),
    )


def _noted(card: str, stored: NDArray[Any]) -> str:
    """Add a line on the new size to a model card, after its metadata, in place of an earlier one."""
    tokens, dimension = stored.shape
    note = f"{_NOTE} {dimension} dimensions, {tokens:,} tokens, {stored.dtype.name}; the rest describes it before."
    rest = re.sub(rf"^{re.escape(_NOTE)}.*\n+", "", card, flags=re.M)
    metadata = re.match(r"---\r?\n.*?\n---\r?\n", rest, re.S)
    place = metadata.end() if metadata else 0
    before = f"{rest[:place]}\n" if place else ""
    return before + f"{note}\n\n" + rest[place:].lstrip("\r\n")


def refuse_layers(encoder: StaticEncoder) -> None:
    """Raise InputError for a student with layers after the sum of its token vectors, which a table cannot replace."""
    if encoder.model.layer is not None:
        raise InputError(
            "The encoder has layers after the sum of its token vectors; only one without layers can be compressed."
        )


def token_counts(encoder: StaticEncoder, texts: list[str] | None) -> NDArray[np.int64]:
    """Count each token in texts, (vocabulary,) int64; None counts every token once.

    Raises InputError if the encoder knows no word of the texts: without counts there are no directions.
    """
    size = len(encoder.stored)
    if texts is None:
        return np.ones(size, np.int64)
    tokens = encoder.token_ids(texts)
    if not len(encoder.known(tokens).ids):
        raise InputError(
            f"{option('texts')}: the encoder knows no word of them; give other texts, or none, which counts each token "
            "once."
        )
    return np.bincount(tokens.ids, minlength=size)


def with_fewer_words(encoder: StaticEncoder, size: int, counts: NDArray[np.int64]) -> StaticEncoder:
    """Return a student with `size` tokens: the most frequent words, and all pieces that words are cut into.

    Args:
        encoder: A student without layers after its sum.
        size: From the number of word pieces and single characters to that of its tokens.
        counts: The count of each token, (vocabulary,) int64, at least 0; of equal ones the earlier token is kept.

    Returns:
        A student with a table of (size, dimension).

    Raises:
        InputError: If `size` is out of its range.

    Example:
        >>> from sentence_distillery import load
        >>> model = load()
        >>> with_fewer_words(model, 30_000, token_counts(model, None))
        StaticEncoder(dimension=256, tokens=30_000, megabytes=7.7)

    Reference:
        Abdaoui, Pradel and Sigel 2020, Load What You Need: Smaller Versions of Multilingual BERT,
        https://arxiv.org/abs/2010.05609
    """
    if encoder.rules is not None:
        raise InputError(
            f"vocabulary is {size}, but this encoder's tokenizer is that of another library, whose tokens are not "
            "words and their pieces; leave the vocabulary out, and give fewer dimensions or bits."
        )

    # Pieces of words and single characters stay: with them any text that could be read can still be read.
    content = json.loads(encoder.tokenizer.to_str())
    tokens: dict[str, int] = content["model"]["vocab"]
    prefix = content["model"].get("continuing_subword_prefix") or "##"
    added = {token["content"] for token in content["added_tokens"]}
    needed = [
        place == UNKNOWN_ID or token.startswith(prefix) or (len(token) == 1 and token not in added)
        for token, place in sorted(tokens.items(), key=lambda item: item[1])
    ]
    least = sum(needed)
    if not is_whole(size, least, len(tokens)):
        raise InputError(f"{setting('vocabulary', size)}; give {least}, which are pieces of words, to {len(tokens)}.")

    # What is needed comes first, then the most frequent; of equally frequent tokens the earlier one, so that bytes
    # repeat.
    order = np.lexsort((np.arange(len(tokens)), -counts, ~np.array(needed)))
    kept = np.sort(order[:size])
    places = {int(old): new for new, old in enumerate(kept)}

    # The ids close up, since a row of the table belongs to each.
    content["model"]["vocab"] = {token: places[place] for token, place in tokens.items() if place in places}
    content["added_tokens"] = [
        {**token, "id": places[token["id"]]} for token in content["added_tokens"] if token["id"] in places
    ]
    tokenizer = Tokenizer.from_str(json.dumps(content))
    lexical = None if encoder.lexical is None else encoder.lexical.take(kept)
    return _changed(encoder, tokenizer, encoder.stored[kept], encoder.step, lexical)


def compressed(encoder: StaticEncoder, directions: Floats, dimension: int, precision: Precision) -> StaticEncoder:
    """Return a student whose table, (vocabulary, `dimension`), has fewer dimensions or bits.

    `directions` are the `principal_directions` of its table; if all are kept, it is not rotated.
    """
    # All dimensions are left as they are, so that a change of precision alone changes nothing else.
    table = encoder.table if dimension == encoder.token_dimension else encoder.table @ directions[:, :dimension]
    assert encoder.rules is not None or not table[UNKNOWN_ID].any()
    if precision in (Precision.FLOAT32, Precision.FLOAT16):
        stored: NDArray[Any] = table.astype(precision.value)
    elif precision == Precision.INT8:
        stored = levels(table)
    else:
        stored = (levels(table) * np.float32(STEP)).astype(np.float16)
    step = STEP if precision == Precision.LEVELS else None
    return _changed(encoder, encoder.tokenizer, stored, step, encoder.lexical)
