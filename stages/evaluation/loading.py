"""Every system that a run compares, or why it has none of that name."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stages.artifacts import read_json
from stages.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from stages.params import Params, Reference, Teacher
from stages.student.encoder import DEEP, GOLD, MY_MODEL, STUDENT, VARIANT, StaticEncoder
from stages.teacher.encoders import AbsentModelError, load_encoder
from stages.teacher.simcse import CONFIG as SIMCSE_CONFIG
from stages.teacher.simcse import SIMCSE
from stages.vectors.fasttext import SubwordVectors
from stages.vectors.glove import load_glove
from stages.vectors.model import REFINED, SKIPGRAM, WordVectors

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
        lambda: StudentSystem(StaticEncoder.load(MY_MODEL), "MyModel"),
        lambda: StudentSystem(StaticEncoder.load(student)),
        lambda: load_variant("student, deep", DEEP),
        lambda: load_variant("student, gold", GOLD),
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
