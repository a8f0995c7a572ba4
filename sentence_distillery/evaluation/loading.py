"""Every system that a run compares, or why it has none of that name."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sentence_distillery.encoder.static_encoder import (
    FINE_TUNED_STUDENT,
    MLP_HEAD,
    PAPER_STUDENT,
    STUDENT,
    VARIANT,
    StaticEncoder,
)
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.transformer import AbsentModelError, load_encoder
from sentence_distillery.evaluation.options import Reference
from sentence_distillery.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.pairs.simcse import CONFIG as SIMCSE_CONFIG
from sentence_distillery.pairs.simcse import SIMCSE
from sentence_distillery.word_vectors.fasttext import SubwordVectors
from sentence_distillery.word_vectors.glove import load_glove
from sentence_distillery.word_vectors.model import REFINED, SKIPGRAM, WordVectors
from stages.params import Params

NOT_HERE = "weights not available here"

log = logging.getLogger("stages")


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
        lambda: StudentSystem(StaticEncoder.load(PAPER_STUDENT), "paper student"),
        lambda: StudentSystem(StaticEncoder.load(student)),
        lambda: load_variant("student, MLP head", MLP_HEAD),
        lambda: load_variant("student, fine-tuned", FINE_TUNED_STUDENT),
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


def load_variant(name: str, directory: Path) -> StudentSystem | Absent:
    """What a stage made of the student, or why it made nothing."""
    absent = read_json(directory / VARIANT)["absent"]
    return Absent(name, absent) if absent else StudentSystem(StaticEncoder.load(directory), name)


def load_simcse(params: Params) -> System | Absent:
    """The encoder that the simcse stage tuned, or why it tuned none."""
    absent = read_json(SIMCSE / SIMCSE_CONFIG)["absent"]
    if absent:
        return Absent("SimCSE", absent)
    tuned = Teacher(reference=str(SIMCSE), revision=None, sha256=None, maximum_length=params.simcse.maximum_length)
    return TeacherSystem(load_encoder(tuned), params.soft_labels.batch_tokens, "SimCSE")
