"""Paper 1's student (Algorithm 2): a linear layer from the mean of refined word vectors to the soft label.

    Embedding(S)      = 1/m sum_{w in S} MyVectorModel(w)         equation 4, S without stop words
    L                 = mean |f(Embedding(S)) - SoftLabel(S)|^2   equation 5
    SentenceVector(S) = f(Embedding(S))                           equation 6

The paper names f's two sizes, the word vectors' and the soft labels', and nothing between them; so f is one linear
layer. A word without a vector counts in m and adds nothing to the sum.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import PaperStudentOptions
from reproductions.paper1.word_vectors.tokenizer import content_tokenizer
from sentence_distillery.corpus.text import STOP_WORDS
from sentence_distillery.distillation.student import (
    LabelledCorpus,
    TrainedStudent,
    read_labelled,
    student_trainer,
    watching,
)
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.runtime.device import device
from sentence_distillery.training.batches import Batches
from sentence_distillery.training.trainer import Saving


class PaperStudent(nn.Module):
    """The linear layer f of equation 6: (batch, input) float32 sentence means to (batch, output) embeddings."""

    def __init__(self, inputs: int, outputs: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.linear = nn.Linear(inputs, outputs)

    def forward(self, means: Tensor) -> Tensor:
        embeddings: Tensor = self.linear(means)
        return embeddings

    def layer(self) -> tuple[Floats, Floats]:
        """Return the weight (output, input) and the bias (output,)."""
        return self.linear.weight.detach().cpu().numpy(), self.linear.bias.detach().cpu().numpy()


@dataclass(frozen=True)
class PaperLoss:
    """The mean squared error of a batch of rows; `means` (sentences, input), `targets` (sentences, output) float16."""

    model: PaperStudent
    means: Floats
    targets: NDArray[np.float16]

    def __call__(self, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        where = self.model.linear.weight.device
        means = torch.from_numpy(self.means[rows]).to(where)
        targets = torch.from_numpy(self.targets[rows].astype(np.float32)).to(where)
        return {"loss": F.mse_loss(self.model(means), targets)}


def train_paper(
    params: PaperStudentOptions,
    refined: WordVectors,
    corpus: LabelledCorpus,
    counters: Counters,
    checkpoint: Path,
    development: PairSet | None = None,
) -> TrainedStudent:
    """Train paper 1's student: a linear layer over the mean of refined word vectors.

    Args:
        params: how to train.
        refined: the word vectors, which training does not change.
        corpus: sentences and their soft labels.
        counters: counts the sentences, those without a known word as dropped.
        checkpoint: the file from which an interrupted training of the same data and options goes on.
        development: rated pairs that each epoch is measured on; they do not change the student.

    Raises:
        InputError: the corpus or its soft labels cannot be read or have too few sentences, or the loss is not finite.
    """
    table = np.concatenate([np.zeros((1, refined.dimension), np.float32), refined.vectors])
    tokenizer = content_tokenizer([UNKNOWN, *refined.words], STOP_WORDS["en"])
    model = PaperStudent(refined.dimension, corpus.dimension, params.seed).to(device())
    encoder = StaticEncoder(tokenizer, table, model.layer())
    labelled = read_labelled(encoder, corpus, counters)
    loss = PaperLoss(model, labelled.tokens.means(table), labelled.targets)
    optimizer = torch.optim.Adam(model.parameters(), lr=params.learning_rate)
    saving = Saving(checkpoint, labelled.key(params, table))
    watch = watching(encoder, lambda tokens: StaticEncoder(tokenizer, table, model.layer()).pool(tokens), development)
    batches = Batches(np.arange(len(labelled.tokens)), params.batch_size, params.seed)
    rate = params.learning_rate
    curve = student_trainer(model, optimizer, batches, params.epochs, rate, saving, watch, decay=False).run(loss)
    remedy = (
        f"Lower learning_rate, which is {params.learning_rate}, and check whether the soft labels and the refined "
        "word vectors differ from each other."
    )
    return TrainedStudent(StaticEncoder(tokenizer, table, model.layer()), labelled.tokens, curve, remedy)
