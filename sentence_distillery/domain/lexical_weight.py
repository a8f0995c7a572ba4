"""Recommend a weight of the lexical channel for your own texts, without labels.

Two questions, each answered by the texts themselves:

    neighbours    With which weight does the encoder find the most of the teacher's ten nearest texts? This asks for
                  likeness in meaning: clusters, duplicates, classification by neighbours.
    search        With which weight do a text's first words find the rest of the same text, among the rests of all
                  texts? This asks for a search by short queries. Nothing is asked of texts that are too short to cut.

Of the weights whose figure does not differ from the best one's beyond chance, the one nearest to 0 is recommended: the
less the channel weighs, the less similarity loses (reproductions/docs/levers.md).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.protocols.neighbours import recalls
from sentence_distillery.evaluation.results import Measure
from sentence_distillery.io.ragged import Floats, unit_rows

WEIGHTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4)
K = 10  # neighbours
QUERY = 8  # words of a text that ask for the rest
REST = 3 * QUERY  # words that the rest needs
ENOUGH = 50  # texts that are long enough
AT_ONCE = 512  # queries

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """What the vectors of some texts consist of, each (texts, dimensions of the part) float32 of unit length."""

    table: Floats
    channel: Floats

    @classmethod
    def of(cls, encoder: StaticEncoder, texts: Sequence[str]) -> "Parts":
        """Encode texts; the encoder has a lexical channel, of any weight."""
        assert encoder.lexical is not None
        own = encoder.lexical.dimension if encoder.lexical_weight else 0
        table = encoder.encode(list(texts))[:, : encoder.full_dimension - own]
        return cls(unit_rows(table), encoder.lexical.vectors(encoder.token_ids(list(texts))))

    def weighed(self, weight: float) -> Floats:
        """Return the vectors that the encoder has with a weight of its channel, of any length."""
        return np.concatenate([self.table, np.float32(weight) * self.channel], axis=1)


def weight_measures(encoder: object, texts: Sequence[str], teacher: Floats) -> Iterator[Measure]:
    """Recommend weights of an encoder's lexical channel, for neighbours and for a search; none without a channel.

    There must be at least 11 texts; if they are too short for one of both, only the other is recommended. `teacher` has
    the teacher's vectors of the texts, (texts, dimension) float32.
    """
    if not isinstance(encoder, StaticEncoder) or encoder.lexical is None or len(texts) <= K:
        return
    parts = Parts.of(encoder, texts)
    yield _recommended("weight for neighbours", lambda weight: recalls(parts.weighed(weight), teacher, [K])[K])
    cut = [found for text in texts if (found := cut_query(text))]
    if len(cut) >= ENOUGH:
        queries, rests = (Parts.of(encoder, side) for side in zip(*cut, strict=True))
        yield _recommended("weight for a search", partial(_found, queries, rests))


def cut_query(text: str) -> tuple[str, str] | None:
    """Cut a text into its first words, which ask for it, and the rest; None if it is too short.

    Example:
        >>> cut_query("one two")
        >>> [part.split()[-1] for part in cut_query(" ".join(map(str, range(50))))]
        ['7', '49']
    """
    words = text.split()
    if len(words) < QUERY + REST:
        return None
    return " ".join(words[:QUERY]), " ".join(words[QUERY:])


def _recommended(protocol: str, scores: Callable[[float], Scores]) -> Measure:
    """Return the least weight whose mean score is not below the best one's beyond chance."""
    found = np.stack([scores(weight) for weight in WEIGHTS])
    best = int(found.mean(axis=1).argmax())

    # All weights have the same draws, so that only their differences count.
    drawn = bootstrap.counts(found.shape[1])
    draws = (bootstrap.means((own - found[best]).astype(np.float32), drawn) for own in found)
    highs = (bootstrap.interval(each).high for each in draws)
    weight = next(weight for weight, high in zip(WEIGHTS, highs, strict=True) if high is None or high >= 0)
    return Measure(protocol, "lexical_weight", weight, found.shape[1])


def _found(queries: Parts, rests: Parts, weight: float) -> Scores:
    """Return the reciprocal rank of the rest of each query's text, among all rests."""
    asked, searched = queries.weighed(weight), rests.weighed(weight)
    searched = unit_rows(searched)
    ranks = []
    for start in range(0, len(asked), AT_ONCE):
        cosines = asked[start : start + AT_ONCE] @ searched.T
        rows = np.arange(len(cosines))

        # A rest of the same cosine is not before the right one.
        ranks.append((cosines > cosines[rows, start + rows][:, None]).sum(axis=1) + 1)
    return 1.0 / np.concatenate(ranks)
