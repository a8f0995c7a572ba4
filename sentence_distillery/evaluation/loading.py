"""Load every system that a run compares, or give the reason why it is not available."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.transformer import NO_WEIGHTS, AbsentModelError, load_encoder
from sentence_distillery.evaluation.options import Evaluate, Reference
from sentence_distillery.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.pairs.options import Simcse
from sentence_distillery.pairs.simcse import CONFIG as SIMCSE_CONFIG
from sentence_distillery.word_vectors.fasttext import SubwordVectors
from sentence_distillery.word_vectors.glove import load_glove
from sentence_distillery.word_vectors.model import WordVectors
from sentence_distillery.word_vectors.options import Fasttext, Skipgram

MLP_HEAD = "student, MLP head"
FINE_TUNED = "student, fine-tuned"
SIMCSE = "SimCSE"

log = logging.getLogger(__name__)


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


Loader = Callable[[], System | Unavailable]


def loaders(
    models: ModelDirectories, options: SystemOptions, words: Callable[[], Iterable[str]]
) -> list[tuple[str, Loader]]:
    """Return a loader for each system of a run, cheapest first, so that one system at a time is in memory.

    Args:
        models: Where the run wrote its models.
        options: How the models read text.
        words: All words that the run will ask for: FastText composes those that it was not trained on.

    Returns:
        The name of each system, and a function without arguments that returns it, or why there is none.
    """
    content, glove_content = options.skipgram.tokens == "content", options.evaluate.glove_tokens == "content"
    return [
        ("skip-gram", lambda: WordSystem("skip-gram", WordVectors.load(models.skipgram), content)),
        ("refined", lambda: WordSystem("refined", WordVectors.load(models.refined), content)),
        ("GloVe", lambda: WordSystem("GloVe", load_glove(), glove_content)),
        ("FastText", lambda: load_fasttext(models.fasttext, options.fasttext, words())),
        ("paper student", lambda: StudentSystem(StaticEncoder.load(models.paper_student), "paper student")),
        ("student", lambda: StudentSystem(StaticEncoder.load(models.student))),
        (MLP_HEAD, partial(load_variant, MLP_HEAD, models.mlp_head)),
        (FINE_TUNED, partial(load_variant, FINE_TUNED, models.fine_tuned_student)),
        ("teacher", lambda: TeacherSystem(load_encoder(options.teacher), options.batch_tokens)),
        (SIMCSE, lambda: load_simcse(models.simcse, options.simcse, options.batch_tokens)),
        *((each.name, partial(load_reference, each, options.batch_tokens)) for each in options.evaluate.references),
    ]


def load_fasttext(directory: Path, options: Fasttext, words: Iterable[str]) -> WordSystem:
    """Load FastText with vectors of `words`, too, composed of their character n-grams."""
    return WordSystem("FastText", SubwordVectors.load(directory).extended(words), options.tokens == "content")


def load_reference(reference: Reference, batch_tokens: int) -> System | Unavailable:
    """Load a transformer to compare with.

    Raises:
        InputError: If its weights are here, but are not those that the pinned SHA-256 names.
    """
    try:
        return TeacherSystem(load_encoder(reference), batch_tokens, reference.name)
    except AbsentModelError as error:
        log.warning("%s is left out: %s", reference.name, error)
        return NO_WEIGHTS


def load_variant(name: str, directory: Path) -> StudentSystem | Unavailable:
    """Load a variant of the student, or say why its stage made none."""
    return read_unavailable(directory / VARIANT) or StudentSystem(StaticEncoder.load(directory), name)


def load_simcse(directory: Path, options: Simcse, batch_tokens: int) -> System | Unavailable:
    """Load the encoder that SimCSE tuned, or say why it tuned none."""
    if unavailable := read_unavailable(directory / SIMCSE_CONFIG):
        return unavailable
    tuned = Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=options.maximum_length)
    return TeacherSystem(load_encoder(tuned), batch_tokens, SIMCSE)
