"""The systems under evaluation behind one interface: text to token ids, token ids to weighted means.

Weighting schemes need nothing more, so each of them works with each mean of tokens: of a table of word vectors, of the
student, and of a transformer, whose token vectors depend on the sentence.

The features of documents for the SGD classifier (protocols/sgd.py) are a system's own mean, or its tokens:

    sgd          the system's own mean over the document, (documents, dimension)
    sgd+tokens   for a table of token vectors: the count of each token in the document, times the length of its
                 vector, (documents, vocabulary), rows of unit length; the mean before its sum is taken

In a mean of 300 words, little is left of the few words that distinguish a good review from a bad one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.weighting import Weighting
from sentence_distillery.corpus.text import content_tokens, tokenize
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.evaluation.protocols.sgd import PROTOCOL
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.teachers.teachers import TextEncoder
from sentence_distillery.teachers.transformer import TransformerEncoder

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 2_000  # sentences that a transformer's tokenizer holds at a time
DOCUMENTS = 1_000  # documents whose tokens are in memory
TOKENS = "sgd+tokens"


class System(Protocol):
    """An encoder of tokens."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> int: ...

    @property
    def silent(self) -> tuple[int, ...]:
        """Ids that are not words of the text (unknown, begin, end): only the system's own mean counts them."""
        ...

    @property
    def weightings(self) -> tuple[Weighting, ...]:
        """The weightings that make sense for it; all of them for a mean of tokens."""
        ...

    def token_ids(self, sentences: list[str]) -> TokenIds: ...

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        """Compute (sentences, dimension) weighted means, one for each weighting; None is the system's own mean."""
        ...


@dataclass(frozen=True, eq=False)
class WordSystem:
    """The mean of word vectors; a word without a vector is left out."""

    name: str
    model: WordVectors
    content_only: bool
    silent: tuple[int, ...] = ()
    weightings: tuple[Weighting, ...] = tuple(Weighting)

    @property
    def vocabulary(self) -> int:
        return len(self.model.words)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        words = (tokenize(sentence) for sentence in sentences)
        return TokenIds.from_words(map(content_tokens, words) if self.content_only else words, self.model.index)

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        return [tokens.means(self.model.vectors, weight) for weight in weights]

    @property
    def lengths(self) -> Floats:
        """The lengths of the token vectors, (vocabulary,)."""
        norms: Floats = np.linalg.norm(self.model.vectors, axis=1)
        return norms


@dataclass(frozen=True, eq=False)
class StudentSystem:
    """The student as released."""

    encoder: StaticEncoder
    name: str = "student"
    silent: tuple[int, ...] = (UNKNOWN_ID,)
    weightings: tuple[Weighting, ...] = tuple(Weighting)

    @property
    def vocabulary(self) -> int:
        return len(self.encoder.table)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        return self.encoder.token_ids(sentences)

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        return [self.encoder.pool(tokens, weight) for weight in weights]

    @property
    def lengths(self) -> Floats:
        """The lengths of the token vectors in an embedding, (vocabulary,): their trained weights."""
        table, linear = self.encoder.table, self.encoder.linear
        norms: Floats = np.linalg.norm(table if linear is None else table @ linear[0].T, axis=1)
        return norms


@dataclass(frozen=True, eq=False)
class TeacherSystem:
    """The teacher, with its own pooling, or a mean under the weights of a weighting."""

    encoder: TransformerEncoder
    batch_tokens: int
    name: str = "teacher"

    @property
    def vocabulary(self) -> int:
        return len(self.encoder.tokenizer)

    @property
    def silent(self) -> tuple[int, ...]:
        return tuple(self.encoder.tokenizer.all_special_ids)

    @property
    def weightings(self) -> tuple[Weighting, ...]:
        """All of them for a mean of tokens; one that pools otherwise has its own vector alone."""
        return tuple(Weighting) if self.encoder.modules.plain else (Weighting.MEAN,)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        chunks = (sentences[start : start + CHUNK] for start in range(0, len(sentences), CHUNK))
        return TokenIds.concatenate([TokenIds.from_lists(self.encoder.token_ids(chunk)) for chunk in chunks])

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        sentences = [span.tolist() for span in np.split(tokens.ids, tokens.offsets[1:-1])]
        return self.encoder.embed(sentences, self.batch_tokens, weights)


@dataclass(eq=False)
class TextSystem:
    """A teacher that embeds whole texts: a function, or a file of vectors. A "token" is a text that it was given."""

    encoder: TextEncoder
    batch_tokens: int
    name: str = "teacher"
    silent: tuple[int, ...] = ()
    weightings: tuple[Weighting, ...] = (Weighting.MEAN,)

    def __post_init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def vocabulary(self) -> int:
        return len(self._places)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        return TokenIds.from_lists([self._places.setdefault(text, len(self._places))] for text in sentences)

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        texts = list(self._places)
        vectors = self.encoder.vectors([texts[place] for place in tokens.ids], self.batch_tokens, "float32")
        return [vectors for _ in weights]


def features(system: System, texts: list[str], protocol: str = PROTOCOL) -> "Floats | csr_array":
    """Return the features of each document, (documents, dimension) float32 or (documents, vocabulary) sparse."""
    if protocol == TOKENS:
        assert isinstance(system, WordSystem | StudentSystem)
        return token_features(system, texts)
    return means(system, texts)


def means(system: System, texts: list[str]) -> Floats:
    """Pool each document by the system's own mean, (documents, dimension) float32."""
    chunks = (texts[start : start + DOCUMENTS] for start in range(0, len(texts), DOCUMENTS))
    return np.concatenate([system.pool(system.token_ids(chunk), [None])[0] for chunk in chunks])


def token_features(system: WordSystem | StudentSystem, texts: list[str]) -> "csr_array":
    """Count tokens, each by the length of its vector, (documents, vocabulary), rows of unit length."""
    from scipy.sparse import csr_array  # only sets of documents need these
    from sklearn.preprocessing import normalize

    tokens, lengths = system.token_ids(texts), system.lengths
    counted = csr_array(
        (lengths[tokens.ids], tokens.ids, tokens.offsets.astype(np.int32)), shape=(len(tokens), len(lengths))
    )
    counted.sum_duplicates()
    return csr_array(normalize(counted))
