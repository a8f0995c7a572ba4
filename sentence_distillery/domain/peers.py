"""Peers of a student on texts of its domain: encoders without training, and encoders by other libraries.

    released      the encoder that comes with this library, trained on general text
    model2vec     model2vec.distill of the same teacher, with as many dimensions: it needs no text
    tokenlearn    the same, then trained by tokenlearn on the student's own soft labels: mean token vectors regressed to
                  the teacher's vectors, with a learnt weight of each token and early stopping

model2vec and tokenlearn run as their packages have them (MinishLab/model2vec, MinishLab/tokenlearn). Two departures:
tokenlearn starts from the teacher's own vocabulary, and its targets are scaled to the length of the root of their
dimension. Its early stopping waits for the loss to fall by 0.0001, which targets of length 1 never reach.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from operator import attrgetter
from pathlib import Path

import numpy as np
import torch

from sentence_distillery.distillation.label_files import embedding_array, soft_label_schema
from sentence_distillery.distillation.soft_labels import part_texts
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.options import PeerName
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder
from sentence_distillery.io.artifacts import atomic_directory, read_table, table_parts
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.cache import cache_directory
from sentence_distillery.runtime.device import device
from sentence_distillery.runtime.progress import others_logged
from sentence_distillery.teachers.options import AbsentModelError, Teacher
from sentence_distillery.teachers.teachers import GivenTeacher
from sentence_distillery.teachers.transformer import NO_WEIGHTS, load_encoder

POOLINGS = {"cls": "first", "lasttoken": "last"}  # as model2vec names them; all others become its mean
# Without the extra `distill` of model2vec, which would replace transformers by an older version.
MODEL2VEC = "pip install model2vec 'skeletoken<0.7'"
TOKENLEARN = "pip install --no-deps tokenlearn"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Comparison:
    """The data that peers are made from."""

    released: Path | str  # the directory of the released encoder, or "released" for the one of this library
    teacher: GivenTeacher  # the student's teacher
    dimension: int  # of the peers' vectors, the student's
    corpus: LabelledCorpus  # the sentences and the soft labels that tokenlearn is trained on
    seed: int  # of tokenlearn's order of the sentences

    @cached_property
    def model2vec(self) -> Encoder | Unavailable:
        """The model2vec model, which tokenlearn starts from."""
        return distilled(self.teacher, self.dimension)


def released(comparison: Comparison) -> Encoder | Unavailable:
    """Load the released encoder; without its lexical channel, which the others have not either."""
    return StaticEncoder.load(comparison.released, lexical_weight=0.0)


def tokenlearn(comparison: Comparison) -> Encoder | Unavailable:
    """Train the model2vec model by tokenlearn."""
    try:
        from tokenlearn.train import train_model
    except ImportError as error:
        return missing(error, TOKENLEARN)
    start = comparison.model2vec
    if isinstance(start, Unavailable):
        return start

    # It learns from the texts and the labels of the student, as those of one run.
    corpus = comparison.corpus
    parts, schema = table_parts(corpus.sentences), soft_label_schema(corpus.dimension)
    texts = [text for part in parts for text in part_texts(part)]
    labels = [embedding_array(read_table(corpus.soft_labels / part.name, schema)["embedding"]) for part in parts]
    targets = unit_rows(np.concatenate(labels).astype(np.float32)) * np.float32(np.sqrt(corpus.dimension))

    # It draws from torch's global generator, whose state has to be as before for all that follows.
    with torch.random.fork_rng():
        torch.manual_seed(comparison.seed)
        trained: Encoder = train_model(start, texts, targets, device=str(device()), pca_dims=comparison.dimension)
    return trained


PEERS: dict[PeerName, Callable[[Comparison], Encoder | Unavailable]] = {
    "released": released,
    "model2vec": attrgetter("model2vec"),
    "tokenlearn": tokenlearn,
}


def distilled(teacher: GivenTeacher, dimension: int) -> Encoder | Unavailable:
    """Distil a transformer by model2vec into at most as many dimensions, or say why not.

    The result is stored in the cache of this library, since every token of the teacher has to be embedded.
    """
    # A comparison that cannot be made is reported as such, and the run goes on without it.
    if not isinstance(teacher, Teacher):
        return Unavailable(f"it needs a transformer, but the teacher is {teacher.reference}")
    try:
        from model2vec import StaticModel
        from model2vec.distill import distill_from_model
    except ImportError as error:
        return missing(error, MODEL2VEC)
    try:
        encoder = load_encoder(teacher)
    except AbsentModelError:
        return NO_WEIGHTS
    pooling = POOLINGS.get("+".join(encoder.modules.poolings), "mean")

    # All that changes the result is in the name, so a stored encoder is never a stale one.
    about = f"{encoder.fingerprint} {pooling} {dimension} {metadata.version('model2vec')}"
    kept = cache_directory() / "model2vec" / hashlib.sha256(about.encode()).hexdigest()[:16]
    if not kept.exists():
        log.info("model2vec distils %s; this takes minutes, once: the result is kept", teacher.reference)
        logging.getLogger("skeletoken").setLevel(logging.ERROR)  # else it warns of each token that it moves
        with others_logged():
            model = distill_from_model(
                encoder.model,
                encoder.tokenizer,
                pca_dims=dimension,
                pooling=pooling,
                device=str(device()),
                quantize_to="float32",  # which tokenlearn needs
            )
        with atomic_directory(kept) as partial:
            model.save_pretrained(str(partial))
    loaded: Encoder = StaticModel.from_pretrained(str(kept))
    return loaded


def missing(error: ImportError, command: str) -> Unavailable:
    """Return the reason why a package cannot be run; raises the error again if the fault is in this library."""
    if (error.name or "").startswith("sentence_distillery"):
        raise error
    return Unavailable(f"it needs a package: run `{command}`")
