"""What should count in the lexical channel beside the tokens of a text? `python -m measurements.channel_terms FROM`.

Compares the released encoder, with its channel of `--dimension`, with those in which more counts:

    unknown words      the stem of each word that the tokenizer cuts to pieces or does not know
    pairs of words     two known words that follow one another
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np

from measurements.command import parsed, refusals
from measurements.equal_bytes import argument_parser, write_comparison
from sentence_distillery.distillation.lexical import stems
from sentence_distillery.encoder.lexical import (
    LEXICAL_WEIGHT,
    SEARCH_WEIGHT,
    LexicalChannel,
    Weight,
    stem_hash,
    weights_by_length,
)
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

IDF_OF_UNKNOWN = 7.0  # that of the rarest known word is 10.7
SHARE_OF_PAIRS = 0.2  # of the mean idf of both words

Word = tuple[str, list[int]]  # as it stands in the text, and its tokens
Term = tuple[str, float]  # its name, and its idf
Terms = Callable[[list[Word]], Iterator[Term]]


@dataclass(frozen=True, eq=False)
class WithTerms:
    """The released encoder, in whose channel further terms of a text count."""

    core: StaticEncoder
    channel: LexicalChannel
    terms: tuple[Terms, ...]

    def encode(self, texts: list[str]) -> Floats:
        """Turn texts into vectors, with the weights of "released-search"."""
        return self._vectors(texts, LEXICAL_WEIGHT)

    def encode_query(self, texts: list[str]) -> Floats:
        """As `encode`, with the weight of searches."""
        return self._vectors(texts, SEARCH_WEIGHT)

    encode_document = encode_query

    def _vectors(self, texts: list[str], weight: Weight) -> Floats:
        known = self.core.known(self.core.token_ids(texts))
        lexical = self._lexical(texts, known)
        weights = weights_by_length(weight, known.lengths)
        return unit_rows(np.concatenate([self.core.encode(texts), lexical * weights[:, None]], axis=1))

    def _lexical(self, texts: list[str], known: TokenIds) -> Floats:
        """Compute the channel, in which each further term is a token of its own."""
        found: dict[str, tuple[int, float]] = {}
        rows = []
        for row, words in enumerate(self._words(texts)):
            ids = known.ids[known.offsets[row] : known.offsets[row + 1]].tolist()
            for each in self.terms:
                for name, rarity in each(words):
                    ids.append(found.setdefault(name, (len(self.channel.idf) + len(found), rarity))[0])
            rows.append(ids)
        old, hashes = self.channel, np.array([stem_hash(name) for name in found], np.int32)
        idf = np.concatenate([old.idf, np.array([rarity for _, rarity in found.values()], np.float32)])
        wider = LexicalChannel(np.concatenate([old.stems, hashes]), idf, old.dimension)
        return wider.vectors(TokenIds.from_lists(rows))

    def _words(self, texts: list[str]) -> Iterator[list[Word]]:
        """Yield the words of each text with their tokens."""
        encodings = self.core.tokenizer.encode_batch(texts, add_special_tokens=False)
        for text, encoding in zip(texts, encodings, strict=True):
            cut = zip(encoding.word_ids, encoding.ids, encoding.offsets, strict=True)
            groups = (list(parts) for _, parts in groupby(cut, key=itemgetter(0)))
            yield [
                ("".join(text[start:stop] for _, _, (start, stop) in parts), [token for _, token, _ in parts])
                for parts in groups
            ]


def unknown_words(words: list[Word]) -> Iterator[Term]:
    """Yield the stem of each word that is not one token."""
    unknown = [word.lower() for word, tokens in words if len(tokens) > 1 or tokens == [UNKNOWN_ID]]
    for stem in stems([word for word in unknown if word.isalnum()], "en"):
        yield f"unknown {stem}", IDF_OF_UNKNOWN


def pairs_of_words(channel: LexicalChannel) -> Terms:
    """Return what yields each pair of neighbouring words that are one known token each."""

    def pairs(words: list[Word]) -> Iterator[Term]:
        for (_, one), (_, other) in pairwise(words):
            if len(one) == len(other) == 1 and UNKNOWN_ID not in (*one, *other):
                idf = float(channel.idf[[one[0], other[0]]].mean())
                yield f"pair {channel.stems[one[0]]} {channel.stems[other[0]]}", SHARE_OF_PAIRS * idf

    return pairs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argument_parser("Compare what counts in the lexical channel.")
    parser.add_argument("--dimension", type=int, default=768, help="of the channel (768)")
    options = parsed(parser, arguments)
    core = StaticEncoder.load("released", lexical_weight=0.0)
    base = StaticEncoder.load("released-search", lexical_dimension=options.dimension)
    assert base.lexical is not None
    pairs = pairs_of_words(base.lexical)
    terms = {"unknown words": (unknown_words,), "pairs of words": (pairs,), "both": (unknown_words, pairs)}
    found = {name: WithTerms(core, base.lexical, each) for name, each in terms.items()}
    about = f"python -m measurements.channel_terms FROM --dimension {options.dimension}"
    with refusals("channel_terms"):
        write_comparison("channel-terms", found, "released-search", options, about, base)


if __name__ == "__main__":
    main()
