"""The systems under evaluation behind one interface: text to token ids, token ids to weighted means.

Weighting schemes need nothing more, so each of them works for each system: a table of word vectors, the student, and a
transformer whose token vectors depend on the sentence.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from stages.artifacts import read_json
from stages.corpus.text import content_tokens, tokenize
from stages.params import Params, Reference, Teacher
from stages.ragged import Floats, TokenIds
from stages.student.encoder import STUDENT, StaticEncoder
from stages.student.tokenizer import UNKNOWN_ID
from stages.teacher.encoders import AbsentModelError, Encoder, load_encoder
from stages.teacher.simcse import CONFIG as SIMCSE_CONFIG
from stages.teacher.simcse import SIMCSE
from stages.vectors.fasttext import SubwordVectors
from stages.vectors.glove import load_glove
from stages.vectors.model import REFINED, SKIPGRAM, WordVectors

CHUNK = 2_000  # sentences that a transformer's tokenizer holds at a time
NOT_HERE = "weights not available here"

log = logging.getLogger("stages")


class System(Protocol):
    """An encoder of tokens."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> int: ...

    @property
    def silent(self) -> tuple[int, ...]:
        """Ids that are no words of the text (unknown, begin, end): only the system's own mean counts them."""
        ...

    def token_ids(self, sentences: list[str]) -> TokenIds: ...

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        """(sentences, dimension) weighted means, one for each weighting; None is the system's own mean."""
        ...


@dataclass(frozen=True, eq=False)
class WordSystem:
    """The mean of word vectors; a word without a vector is left out."""

    name: str
    model: WordVectors
    content_only: bool
    silent: tuple[int, ...] = ()

    @property
    def vocabulary(self) -> int:
        return len(self.model.words)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        words = (tokenize(sentence) for sentence in sentences)
        return TokenIds.from_words(map(content_tokens, words) if self.content_only else words, self.model.index)

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        return [tokens.means(self.model.vectors, weight) for weight in weights]


@dataclass(frozen=True, eq=False)
class StudentSystem:
    """The student as it is released."""

    encoder: StaticEncoder
    name: str = "student"
    silent: tuple[int, ...] = (UNKNOWN_ID,)

    @property
    def vocabulary(self) -> int:
        return len(self.encoder.table)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        return self.encoder.token_ids(sentences)

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        return [self.encoder.pool(tokens, weight) for weight in weights]


@dataclass(frozen=True, eq=False)
class TeacherSystem:
    """The teacher: means of its token outputs."""

    encoder: Encoder
    batch_tokens: int
    name: str = "teacher"

    @property
    def vocabulary(self) -> int:
        return len(self.encoder.tokenizer)

    @property
    def silent(self) -> tuple[int, ...]:
        return tuple(self.encoder.tokenizer.all_special_ids)

    def token_ids(self, sentences: list[str]) -> TokenIds:
        chunks = (sentences[start : start + CHUNK] for start in range(0, len(sentences), CHUNK))
        return TokenIds.concatenate([TokenIds.from_lists(self.encoder.token_ids(chunk)) for chunk in chunks])

    def pool(self, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        sentences = [span.tolist() for span in np.split(tokens.ids, tokens.offsets[1:-1])]
        return self.encoder.embed(sentences, self.batch_tokens, weights)


@dataclass(frozen=True)
class Absent:
    """A system that this run asks for and cannot have; its figures have the reason in place of a value."""

    name: str
    reason: str


Loader = Callable[[], System | Absent]


def loaders(params: Params, words: Callable[[], Iterable[str]], student: Path = STUDENT) -> list[Loader]:
    """Every system of the run, cheapest first, each loaded when it is called, so that one at a time is in memory.

    `words` are all words that the run will ask for: FastText composes those that it was not trained on.
    """
    content = params.skipgram.tokens == "content"
    return [
        lambda: WordSystem("skip-gram", WordVectors.load(SKIPGRAM), content),
        lambda: WordSystem("refined", WordVectors.load(REFINED), content),
        lambda: WordSystem("GloVe", load_glove(), params.evaluate.glove_tokens == "content"),
        lambda: WordSystem("FastText", SubwordVectors.load().extended(words()), params.fasttext.tokens == "content"),
        lambda: StudentSystem(StaticEncoder.load(student)),
        lambda: TeacherSystem(load_encoder(params.teacher), params.soft_labels.batch_tokens),
        lambda: load_simcse(params),
        *(
            partial(load_reference, reference, params.soft_labels.batch_tokens)
            for reference in params.evaluate.references
        ),
    ]


def load_reference(reference: Reference, batch_tokens: int) -> System | Absent:
    """A transformer to compare with; raises InputError where its weights are here, but are not those of the pin."""
    try:
        return TeacherSystem(load_encoder(reference), batch_tokens, reference.name)
    except AbsentModelError as error:
        log.warning("%s is left out: %s", reference.name, error)
        return Absent(reference.name, NOT_HERE)


def load_simcse(params: Params) -> System | Absent:
    """The encoder that the simcse stage tuned, or why it tuned none."""
    absent = read_json(SIMCSE / SIMCSE_CONFIG)["absent"]
    if absent:
        return Absent("SimCSE", absent)
    tuned = Teacher(reference=str(SIMCSE), revision=None, sha256=None, maximum_length=params.simcse.maximum_length)
    return TeacherSystem(load_encoder(tuned), params.soft_labels.batch_tokens, "SimCSE")
