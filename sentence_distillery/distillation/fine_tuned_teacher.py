"""Stage `fine_tuned_teacher`: the teachers of the run tuned on people's scores, those of STS-B train, for the student `gold`.

    loss = mean (cos(u, v) - score)^2        u, v: a teacher's embeddings of a pair, the score on [0, 1]

4,000 pairs tell a sum of token vectors nothing of the words that they lack; a teacher tuned on them passes on what it
understood with every sentence of the corpus (stages/distillation/fine_tuned_labels.py). Each is trained as a cell of paper 3's
grid without the component (sentence_distillery/component_focus/training.py), the best epoch by dev counts. Pairs with a sentence that
evaluation scores on are left out, counted.
"""

from pathlib import Path

from sentence_distillery.benchmarks.data import available, load_pairs
from sentence_distillery.benchmarks.decontamination import unseen
from sentence_distillery.component_focus.cells import Sets
from sentence_distillery.component_focus.training import Cell, fingerprint, material
from sentence_distillery.component_focus.weights import Weights
from sentence_distillery.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.io.counters import Counters
from stages.params import Params

BENCHMARK = "stsb"
CHECKPOINTS = Path("models/checkpoints/fine_tuned_teacher")


def why_absent(params: Params) -> str | None:
    """Why this run has no student `gold`, or None."""
    if params.fine_tuned_student.epochs == 0:
        return "not tuned in this run: fine_tuned_student.epochs is 0"
    if BENCHMARK not in available(kind="pairs"):
        return "STS-B is absent from this run"
    if params.student.kind == "paper":
        return "the student of this run is of kind paper"
    return None


def tune_into(directory: Path, params: Params, counters: Counters) -> str | None:
    """Why no teacher could be tuned, or None where each was written to a directory of its own, 0, 1, ..."""
    training = params.fine_tuned_teacher
    train = unseen(load_pairs(BENCHMARK, "train"), counters)
    if len(train.sentences1) < 2:
        return f"{len(train.sentences1)} pairs of STS-B train share no sentence with what evaluation scores on"
    for number, teacher in enumerate([params.teacher, *params.soft_labels.additional_teachers]):
        encoder = PairEncoder(load_encoder(teacher), Pooling.MEAN)
        alone = Weights(0.0, encoder.dimension)
        pairs: Sets = {"train": train, "dev": load_pairs(BENCHMARK, "dev")}
        data = material(pairs, {}, encoder, alone, Counters("sentences"))
        cell = Cell(encoder, training, alone, training.seed, CHECKPOINTS / f"{number}.safetensors")
        if training.epochs:
            cell.run(data, fingerprint(data, encoder, training))
        encoder.transformer.save_pretrained(directory / str(number))
        encoder.encoder.tokenizer.save_pretrained(directory / str(number))
    return None
