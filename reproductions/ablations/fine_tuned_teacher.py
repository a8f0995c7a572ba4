"""Teachers that are fine-tuned on human ratings, those of STS-B train, for the fine-tuned student.

    loss = mean (cos(u, v) - rating)^2        u, v: a teacher's embeddings of a pair, the rating on [0, 1]

4,000 pairs teach a sum of token vectors nothing about words that are not in them. A fine-tuned teacher transfers what
it learnt with every sentence of the corpus. Each is trained like a cell of paper 3's grid without the component
(component_focus/training.py); the best epoch on dev counts. Pairs with an evaluation sentence are left out and counted.
"""

from pathlib import Path

from reproductions.ablations.fine_tuning import BENCHMARK, training_pairs
from reproductions.ablations.options import FineTunedTeacher
from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper3.component_focus.cells import Sets
from reproductions.paper3.component_focus.training import Training, fingerprint, tokenize_task
from reproductions.paper3.component_focus.weights import Weights
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import AnyTeacher
from sentence_distillery.teachers.transformer import TransformerEncoder, load_encoder


def tune_teachers(
    teachers: list[AnyTeacher],
    training: FineTunedTeacher,
    data: BenchmarkData,
    directory: Path,
    checkpoints: Path,
    counters: Counters,
) -> Unavailable | None:
    """Fine-tune each teacher and write it to its own directory, 0, 1, ...

    Args:
        teachers: the encoders to start from.
        training: how to train.
        data: has STS-B, and the fingerprints of the evaluation texts.
        directory: the directory to write.
        checkpoints: the directory of the checkpoint of an interrupted training.
        counters: counts the pairs.

    Returns:
        Why none could be tuned, or None.

    Raises:
        InputError: a teacher or the pairs cannot be read, or a teacher is not a mean over its tokens.
    """
    train = training_pairs(data, counters)
    if len(train.sentences1) < 2:
        return Unavailable(f"{len(train.sentences1)} pairs of STS-B train share no sentence with the evaluation sets")
    for number, teacher in enumerate(teachers):
        encoder = PairEncoder(_plain(load_encoder(teacher)), Pooling.MEAN)
        alone = Weights(0.0, encoder.dimension)
        pairs: Sets = {"train": train, "dev": data.pairs(BENCHMARK, "dev")}
        task = tokenize_task(pairs, {}, encoder, alone, Counters("sentences"))
        path = checkpoints / f"{number}.safetensors"
        Training(encoder, training, alone, training.seed, path).run(task, fingerprint(task, encoder, training))
        encoder.encoder.save(directory / str(number))
    return None


def _plain(encoder: TransformerEncoder) -> TransformerEncoder:
    """Return the encoder; raises InputError unless it is only a mean over its tokens."""
    if not encoder.modules.plain:
        raise InputError(
            f"{encoder.reference} has the pooling {', '.join(encoder.modules.poolings)}, a prompt or further layers; "
            "only an encoder with mean pooling alone can be fine-tuned. Set fine_tuned_teacher.enabled to false."
        )
    return encoder
