"""Registration of an evaluated system: its name, its loader and its description; `registry.SYSTEMS` has them all."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reproductions.paper1.word_vectors.options import Fasttext, Skipgram
from reproductions.paper2.pairs.options import Simcse
from reproductions.systems.options import Evaluate
from reproductions.systems.systems import StudentSystem, System
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.teachers.options import AnyTeacher

WITH_HEAD, FINE_TUNED = "student, MLP head", "student, fine-tuned"  # variants


@dataclass(frozen=True)
class SystemOptions:
    """The options that loading the systems depends on; each system says which it needs."""

    batch_tokens: int
    teacher: AnyTeacher | None = None
    evaluate: Evaluate | None = None
    skipgram: Skipgram | None = None
    fasttext: Fasttext | None = None
    simcse: Simcse | None = None


@dataclass(frozen=True)
class SystemInputs:
    """The outputs of a run that its systems need.

    Attributes:
        models: The directory of each model, by its name.
        options: How the models read text.
        words: Returns all words that the run will ask for: FastText composes those that it was not trained on.
    """

    models: Mapping[str, Path]
    options: SystemOptions
    words: Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Registered:
    """A system.

    Attributes:
        name: In results.csv and in the report.
        about: What it is, for the report.
        load: Returns it, or why there is none.
        trained: Whether a run trains it, so that its figures depend on a seed.
        paper: The key of the paper that compares with it; None for the systems of the main job.
    """

    name: str
    about: str
    load: Callable[[SystemInputs], System | Unavailable]
    trained: bool = True
    paper: str | None = None


def load_variant(name: str, directory: Path) -> StudentSystem | Unavailable:
    """Load a variant of the student, or say why its stage made none."""
    return read_unavailable(directory / VARIANT) or StudentSystem(StaticEncoder.load(directory), name)
