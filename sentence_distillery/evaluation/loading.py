"""Load every system that a run compares, or give the reason why it is absent."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.transformer import AbsentModelError, load_encoder
from sentence_distillery.evaluation.options import Evaluate, Reference
from sentence_distillery.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.pairs.options import Simcse
from sentence_distillery.pairs.simcse import CONFIG as SIMCSE_CONFIG
from sentence_distillery.word_vectors.fasttext import SubwordVectors
from sentence_distillery.word_vectors.glove import load_glove
from sentence_distillery.word_vectors.model import WordVectors
from sentence_distillery.word_vectors.options import Fasttext, Skipgram

NOT_HERE = "weights not available here"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Absent:
    """A system of this run that is not available; its figures have the reason in place of a value."""

    name: str
    reason: str


@dataclass(frozen=True)
class ModelDirectories:
    """The directory of each model that a run trains."""

    skipgram: Path
    refined: Path
    fasttext: Path
    paper_student: Path
    student: Path
    mlp_head: Path
    fine_tuned_student: Path
    simcse: Path


@dataclass(frozen=True)
class SystemOptions:
    """The options of the trainings, as far as loading the models depends on them."""

    skipgram: Skipgram
    fasttext: Fasttext
    simcse: Simcse
    teacher: Teacher
    batch_tokens: int
    evaluate: Evaluate


Loader = Callable[[], System | Absent]


def loaders(models: ModelDirectories, options: SystemOptions, words: Callable[[], Iterable[str]]) -> list[Loader]:
    """Return a loader for each system of a run, cheapest first, so that one system at a time is in memory.

    Args:
        models: Where the run wrote its models.
        options: How the models read text.
        words: All words that the run will ask for: FastText composes those that it was not trained on.

    Returns:
        Functions without arguments; each returns a system, or why there is none.
    """
    content, glove_content = options.skipgram.tokens == "content", options.evaluate.glove_tokens == "content"
    return [
        lambda: WordSystem("skip-gram", WordVectors.load(models.skipgram), content),
        lambda: WordSystem("refined", WordVectors.load(models.refined), content),
        lambda: WordSystem("GloVe", load_glove(), glove_content),
        lambda: load_fasttext(models.fasttext, options.fasttext, words()),
        lambda: StudentSystem(StaticEncoder.load(models.paper_student), "paper student"),
        lambda: StudentSystem(StaticEncoder.load(models.student)),
        lambda: load_variant("student, MLP head", models.mlp_head),
        lambda: load_variant("student, fine-tuned", models.fine_tuned_student),
        lambda: TeacherSystem(load_encoder(options.teacher), options.batch_tokens),
        lambda: load_simcse(models.simcse, options.simcse, options.batch_tokens),
        *(partial(load_reference, reference, options.batch_tokens) for reference in options.evaluate.references),
    ]


def load_fasttext(directory: Path, options: Fasttext, words: Iterable[str]) -> WordSystem:
    """Load FastText with vectors of `words`, too, composed of their character n-grams."""
    return WordSystem("FastText", SubwordVectors.load(directory).extended(words), options.tokens == "content")


def load_reference(reference: Reference, batch_tokens: int) -> System | Absent:
    """Load a transformer to compare with.

    Raises:
        InputError: If its weights are here, but are not those that the pinned SHA-256 names.
    """
    try:
        return TeacherSystem(load_encoder(reference), batch_tokens, reference.name)
    except AbsentModelError as error:
        log.warning("%s is left out: %s", reference.name, error)
        return Absent(reference.name, NOT_HERE)


def load_variant(name: str, directory: Path) -> StudentSystem | Absent:
    """Load a variant of the student, or say why its stage made none."""
    absent = read_json(directory / VARIANT)["absent"]
    return Absent(name, absent) if absent else StudentSystem(StaticEncoder.load(directory), name)


def load_simcse(directory: Path, options: Simcse, batch_tokens: int) -> System | Absent:
    """Load the encoder that SimCSE tuned, or say why it tuned none."""
    absent = read_json(directory / SIMCSE_CONFIG)["absent"]
    if absent:
        return Absent("SimCSE", absent)
    tuned = Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=options.maximum_length)
    return TeacherSystem(load_encoder(tuned), batch_tokens, "SimCSE")
