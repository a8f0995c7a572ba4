"""The figures of an encoder on texts without labels: how far do its cosines agree with the teacher's?

    random pairs    Spearman's correlation of the two cosines over pairs drawn at random: the coarse order
    near pairs      the same over each text and the teacher's nearest texts: the fine order, which a search needs
    neighbours      recall@k: the share of the teacher's k nearest texts that are among the encoder's (neighbours.py)
    words           the share of words that are cut into pieces, and of texts without a known word

An interval holds 95 % of 2,000 draws of the texts that are the first of a pair, or the query, with replacement. For
Spearman the ranks are those of all pairs in every draw. The texts that are searched stay the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.stats import rankdata
from tokenizers import Tokenizer

from sentence_distillery.domain.options import Domain
from sentence_distillery.encoder.tokenizer import SPLITTER, is_punctuation
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, embed
from sentence_distillery.evaluation.protocols.neighbours import Rows, nearest, recalls
from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.evaluation.results import Measure, Result, as_result
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Figure, Unavailable

DEPTHS = (1, 10, 100)
DATASET = "held-out texts"  # in the table of figures
FEWEST = 3  # texts: of two the nearest neighbour is known beforehand
UNKNOWN = ("[UNK]", "<unk>")
METRICS = (
    ("random pairs", "spearman"),
    ("near pairs", "spearman"),
    *(("neighbours", f"recall_at_{depth}") for depth in DEPTHS),
    ("words", "words_cut"),
    ("words", "unknown_texts"),
)


@dataclass(frozen=True, eq=False)
class Reference:
    """Texts, the teacher's vectors of them, and the pairs that every encoder is compared on."""

    texts: Sequence[str]  # at least FEWEST
    vectors: Floats  # (texts, dimension) float32, of any length
    random: Rows  # the other texts of each text's random pairs, (texts, random_pairs) int64
    near: Rows  # the teacher's nearest texts of each, (texts, neighbours) int64; fewer if there are fewer texts
    drawn: Floats = field(repr=False)  # how often each text is in each draw of the bootstrap, (draws, texts) float32

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Floats, options: Domain) -> "Reference":
        """Draw the random pairs, and search the near ones."""
        count = len(texts)
        offsets = np.random.default_rng(options.seed).integers(1, count, (count, options.random_pairs))
        others = (np.arange(count)[:, None] + offsets) % count  # never the text itself
        near = nearest(vectors, min(options.neighbours, count - 1))
        return cls(texts, vectors, others, near, bootstrap.counts(count))


def scored(
    name: str, encoder: Encoder | Unavailable, reference: Reference | Unavailable, dataset: str = DATASET
) -> Iterator[Result]:
    """Measure an encoder: a row of the table of figures for each of METRICS, its value perhaps why there is none."""
    return (as_result(name, dataset, "", measure) for measure in measured(encoder, reference))


def measured(encoder: Encoder | Unavailable, reference: Reference | Unavailable) -> Iterator[Measure]:
    """Yield the figures of an encoder, or the reason in place of each."""
    if isinstance(reference, Unavailable):
        return unavailable(reference, 0)
    if isinstance(encoder, Unavailable):
        return unavailable(encoder, len(reference.texts))
    return measures(embed(encoder, list(reference.texts)), tokenizer_of(encoder), reference)


def measures(vectors: Floats, tokenizer: Tokenizer | None, reference: Reference) -> Iterator[Measure]:
    """Yield a figure for each of METRICS, of an encoder's (texts, dimension) vectors of the reference's texts.

    It is `Unavailable` if a vector is not finite, all cosines are alike, or there are too few texts for k neighbours.
    """
    count = len(reference.texts)
    for whose, each in (("", vectors), (" of the teacher", reference.vectors)):
        if not np.isfinite(each).all():
            yield from unavailable(Unavailable(f"some vectors{whose} are not finite"), count)
            return

    # Random pairs say how far the cosines agree in general, near pairs among texts that are hard to tell apart.
    yield _correlation("random pairs", vectors, reference, reference.random)
    yield _correlation("near pairs", vectors, reference, reference.near)

    # As many neighbours as there are other texts would be found by any encoder.
    depths = [depth for depth in DEPTHS if depth < count]
    found = recalls(vectors, reference.vectors, depths)
    for depth in DEPTHS:
        place = ("neighbours", f"recall_at_{depth}")
        if depth in found:
            draw = partial(bootstrap.means, found[depth].astype(np.float32), reference.drawn)
            yield Measure(*place, float(found[depth].mean()), count, draw)
        else:
            yield Measure(*place, Unavailable(f"{count} texts, but recall@{depth} needs {depth + 1}"), count)
    yield Measure("words", "words_cut", words_cut(tokenizer, reference.texts), count)
    yield Measure("words", "unknown_texts", unknown_texts(vectors), count)


def unavailable(reason: Unavailable, count: int) -> Iterator[Measure]:
    """Yield the reason in place of each figure."""
    for protocol, metric in METRICS:
        yield Measure(protocol, metric, reason, count)


def _correlation(protocol: str, vectors: Floats, reference: Reference, others: Rows) -> Measure:
    """Correlate the cosines of each text with `others`, (texts, each)."""
    own, teacher = (_cosines(each, others) for each in (vectors, reference.vectors))
    value = correlations(own.ravel(), teacher.ravel())["spearman"]
    if isinstance(value, Unavailable):
        return Measure(protocol, "spearman", value, own.size)

    # The ranks of all pairs serve every draw: to rank each draw anew would take minutes.
    one, other = (rankdata(cosines).reshape(cosines.shape) for cosines in (own, teacher))
    return Measure(protocol, "spearman", value, own.size, partial(bootstrap.pearson, one, other, reference.drawn))


def _cosines(vectors: Floats, others: Rows) -> Floats:
    """Return the cosines of each text with others, (texts, each) float32; one column at a time, to save memory."""
    unit = unit_rows(vectors)
    return np.stack([np.einsum("nd,nd->n", unit, unit[column]) for column in others.T], axis=1)


def words_cut(tokenizer: Tokenizer | None, texts: Sequence[str]) -> Figure:
    """Return the share of words, in [0, 1], that are not one token: cut into pieces, or unknown.

    Words count as often as they occur; punctuation is not a word. The tokenizer is None if the encoder has none.
    """
    if tokenizer is None:
        return Unavailable("it has no tokenizer of the library tokenizers")
    counts = Counter(word for text in texts for word, _ in SPLITTER.pre_tokenize_str(text) if not is_punctuation(word))
    if not counts:
        return Unavailable("the texts have no words")
    whole = {word for word, one in zip(counts, _one_token(tokenizer, list(counts)), strict=True) if one}
    return sum(count for word, count in counts.items() if word not in whole) / counts.total()


def _one_token(tokenizer: Tokenizer, words: list[str]) -> list[bool]:
    """Tell for each word whether it is one known token, at the start of a text or after a blank."""
    unknown = {tokenizer.token_to_id(token) for token in UNKNOWN}
    given = (words, [f" {word}" for word in words])
    forms = [[each.ids for each in tokenizer.encode_batch_fast(form, add_special_tokens=False)] for form in given]
    return [any(len(ids) == 1 and ids[0] not in unknown for ids in both) for both in zip(*forms, strict=True)]


def unknown_texts(vectors: Floats) -> float:
    """Return the share of (texts, dimension) vectors, in [0, 1], that are zero, since no token is known."""
    return float((~np.any(vectors, axis=1)).mean())


def tokenizer_of(encoder: object) -> Tokenizer | None:
    """Return the tokenizer of an encoder of this library, model2vec, sentence-transformers or transformers, or None."""
    found = getattr(encoder, "tokenizer", None)
    found = getattr(found, "backend_tokenizer", found)
    return found if isinstance(found, Tokenizer) else None
