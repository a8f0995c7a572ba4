"""From texts to the ids of tokens: looked up in the native core, or cut by the package `tokenizers`.

Both give the same ids. The core knows tokenizers as this library makes them; it is asked if nothing but a look-up is
needed: no rules of another library, no greatest length, and not the position of unknown tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from sentence_distillery.encoder.core import native_token_ids, native_vocabulary
from sentence_distillery.encoder.exchange.text_rules import TextRules
from sentence_distillery.encoder.native.characters import UNKNOWN_ID
from sentence_distillery.encoder.native.vocabulary import Loaded, Vocabulary, read_vocabulary
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.io.unicode import whole_surrogates

if TYPE_CHECKING:  # its import takes longer than encoding a text
    from tokenizers import Tokenizer

LONG_TEXT: Final = 10_000  # characters

# A word of so many characters is unknown. The tokenizer takes seconds to say so of millions, so the rest is left out.
_LATIN: Final = "[A-Za-z0-9À-ÖØ-öø-ɏА-яЀ-џ]"
_ENDLESS: Final = f"({_LATIN}{{1000}}){_LATIN}{{4000,}}"


class Source(Protocol):
    """Where a tokenizer comes from."""

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer; raises InputError if it cannot be read."""
        ...

    def vocabulary(self) -> Vocabulary | Loaded | None:
        """Return what the native core looks up; None for a tokenizer of another kind."""
        ...

    def pickled(self) -> Tokenizer | bytes:
        """Return what another machine needs."""
        ...


class InMemory(NamedTuple):
    """A tokenizer that is there already, and can be pickled."""

    given: Tokenizer

    def tokenizer(self) -> Tokenizer:
        return self.given

    def vocabulary(self) -> Vocabulary | Loaded | None:
        return read_vocabulary(self.given.to_str().encode())

    def pickled(self) -> Tokenizer:
        return self.given


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokenizer of a model, and the rules by which a text becomes tokens.

    Attributes:
        source: Where the tokenizer comes from; it is read when a text needs it.
        rules: The rules of another library; None are this library's own.
        known: What the native core looks up; None reads it when it is needed.
        of_means: Whether unknown tokens count, in the mean (kind paper); then no text goes to the core.
    """

    source: Source
    rules: TextRules | None = None
    known: Vocabulary | Loaded | None = None
    of_means: bool = False

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of `tokenizers`."""
        return self.source.tokenizer()

    @cached_property
    def native(self) -> Any:
        """The vocabulary in the native core; None if texts go the simple way."""
        if self.of_means or self.rules is not None:
            return None
        return native_vocabulary(self.known or self.source.vocabulary())

    @cached_property
    def _median_length(self) -> int:
        """The median number of characters in a token, as model2vec computes it."""
        return int(np.median([len(token) for token in self.tokenizer.get_vocab()]))

    @property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, which does not count; None if unknown tokens count."""
        return UNKNOWN_ID if self.rules is None else self.rules.left_out

    def counting(self, tokens: TokenIds) -> TokenIds:
        """Leave out the unknown tokens that `ids` gives, if they do not count."""
        return tokens.without(UNKNOWN_ID) if self.rules is None else tokens

    def ids(self, texts: list[str], max_length: int | None = None) -> TokenIds:
        """Cut texts into tokens, at most `max_length` of each; None reads as many as the model does.

        Returns their ids, UNKNOWN_ID for an unknown token; punctuation may be left out or unknown.
        """
        if not texts:
            return TokenIds.from_lists([])

        # The core neither counts tokens nor keeps the places of unknown ones, which a length and rules need.
        if max_length is not None:
            return self.by_rules(texts, self._cut_at(max_length))
        if self.rules is not None:
            return self.by_rules(texts, self.rules)
        return self._cut(texts) if self.native is None else native_token_ids(self.native, texts, self._cut)

    def sequence_ids(self, texts: list[str], max_length: int | None) -> TokenIds:
        """Cut texts into tokens, all of them if there is no `max_length`, whatever the model reads."""
        return self.ids(texts, max_length) if self.rules is None else self.by_rules(texts, self._cut_at(max_length))

    def counting_ids(self, texts: list[str]) -> TokenIds:
        """Cut texts into the tokens that count, without the core."""
        return self.counting(self._cut(texts) if self.rules is None else self.ids(texts))

    def _cut_at(self, max_length: int | None) -> TextRules:
        return TextRules(None if self.of_means and self.rules is None else self.unknown_id, max_length)

    def by_rules(self, texts: list[str], rules: TextRules) -> TokenIds:
        """Cut texts by the tokenizer, and by these rules in place of the model's own."""
        characters = 0 if rules.max_length is None else self._median_length
        return rules.token_ids(self.tokenizer, list(map(whole_surrogates, texts)), characters)

    def _cut(self, texts: list[str]) -> TokenIds:
        """Cut texts by the tokenizer; UNKNOWN_ID for an unknown token or punctuation."""
        read = [re.sub(_ENDLESS, r"\1", text) if len(text) > LONG_TEXT else text for text in texts]
        return self.by_rules(read, TextRules())
