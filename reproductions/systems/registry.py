"""All systems that a run compares: adding one is adding an entry to SYSTEMS.

If a run trains the system, its loader takes its directory from `SystemInputs.models`.
"""

import logging
from collections.abc import Callable
from functools import partial

from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper2.pairs.simcse import CONFIG
from reproductions.systems.registration import FINE_TUNED, WITH_HEAD, Registered, SystemInputs, load_variant
from reproductions.systems.systems import StudentSystem, System, TeacherSystem, TextSystem, WordSystem
from sentence_distillery.domain.options import Reference
from sentence_distillery.domain.systems import ABOUT, STUDENT, TEACHER
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.teachers.options import Teacher, VectorTeacher
from sentence_distillery.teachers.teachers import load_teacher
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError, load_encoder

Loader = Callable[[], System | Unavailable]

log = logging.getLogger(__name__)


def words(name: str, model: str, run: SystemInputs) -> WordSystem:
    """Load word vectors of the run."""
    assert run.options.skipgram
    return WordSystem(name, WordVectors.load(run.models[model]), run.options.skipgram.tokens == "content")


def glove(run: SystemInputs) -> WordSystem:
    """Load the vectors of the package."""
    assert run.options.evaluate
    return WordSystem("GloVe", load_glove(), run.options.evaluate.glove_tokens == "content")


def fasttext(run: SystemInputs) -> WordSystem:
    """Load the vectors, with those of the run's other words, composed of their character n-grams."""
    from reproductions.paper1.word_vectors.fasttext import SubwordVectors  # takes two seconds, needed only by paper 1

    assert run.options.fasttext
    vectors = SubwordVectors.load(run.models["fasttext"]).extended(run.words())
    return WordSystem("FastText", vectors, run.options.fasttext.tokens == "content")


def student(name: str, model: str, run: SystemInputs) -> StudentSystem:
    """Load a student of the run."""
    return StudentSystem(StaticEncoder.load(run.models[model]), name)


def variant(name: str, model: str, run: SystemInputs) -> StudentSystem | Unavailable:
    """Load a variant of the student, or say why its stage made none."""
    return load_variant(name, run.models[model])


def teacher(run: SystemInputs) -> TeacherSystem | TextSystem | Unavailable:
    """Load the transformer or the function; a file of vectors has none of the texts of a benchmark."""
    given = run.options.teacher
    assert given
    if isinstance(given, VectorTeacher):
        return Unavailable("the teacher is a file of vectors, which has none of the set's texts")
    if isinstance(given, Teacher):
        return TeacherSystem(load_encoder(given), run.options.batch_tokens)
    return TextSystem(load_teacher(given), run.options.batch_tokens)


def simcse(run: SystemInputs) -> TeacherSystem | Unavailable:
    """Load the encoder that SimCSE tuned, or say why it tuned none."""
    directory, options = run.models["simcse"], run.options
    if unavailable := read_unavailable(directory / CONFIG):
        return unavailable
    assert options.simcse
    longest = options.simcse.maximum_length
    tuned = Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=longest)
    return TeacherSystem(load_encoder(tuned), options.batch_tokens, "SimCSE")


# The cheapest first.
SYSTEMS = [
    Registered(
        "skip-gram",
        "the mean of word vectors trained on the corpus",
        partial(words, "skip-gram", "skipgram"),
        paper="paper1",
    ),
    Registered(
        "refined",
        "the same vectors, refined by Kullback-Leibler divergence (paper 1, section 3.1)",
        partial(words, "refined", "refined"),
        paper="paper1",
    ),
    Registered(
        "GloVe",
        "published word vectors of 50 dimensions, from a package (Pennington et al. 2014)",
        glove,
        trained=False,
        paper="paper1",
    ),
    Registered(
        "FastText",
        "word vectors trained on the corpus with character n-grams, which also represent out-of-vocabulary words",
        fasttext,
        paper="paper1",
    ),
    Registered(
        "paper student",
        "paper 1’s student, which it calls MyModel: a linear layer over the mean of refined vectors, "
        "distilled from this run’s teacher",
        partial(student, "paper student", "paper_student"),
        paper="paper1",
    ),
    Registered(STUDENT, ABOUT[STUDENT], partial(student, STUDENT, "student")),
    Registered(
        WITH_HEAD,
        "the student with a hidden layer after the sum of its token vectors, trained on the same soft labels",
        partial(variant, WITH_HEAD, "mlp_head"),
    ),
    Registered(
        FINE_TUNED,
        "a student with an MLP head; its teachers, and then the student itself, were fine-tuned on the "
        "human ratings of STS-B train. It is the only system trained on human ratings.",
        partial(variant, FINE_TUNED, "fine_tuned_student"),
    ),
    Registered(TEACHER, ABOUT[TEACHER], teacher, trained=False),
    Registered(
        "SimCSE",
        "an encoder fine-tuned here by contrastive learning: two dropout masks of one sentence make a "
        "positive pair (Gao et al. 2021)",
        simcse,
        paper="paper1",
    ),
]


def loaders(run: SystemInputs, paper: str | None = None) -> list[tuple[str, Loader]]:
    """Return a loader for each system of the main job, or of a paper, so that one system at a time is in memory.

    Returns:
        The name of each system, and a function without arguments that returns it, or why there is none. The cheapest
        come first; the transformers of `evaluate.references` are the last of the main job.
    """
    references = run.options.evaluate.references if run.options.evaluate and paper is None else []
    return [
        *((system.name, partial(system.load, run)) for system in SYSTEMS if system.paper == paper),
        *((each.name, partial(load_reference, each, run.options.batch_tokens)) for each in references),
    ]


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
