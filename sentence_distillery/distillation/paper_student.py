"""Paper 1's student (Algorithm 2): a linear layer from the mean of refined word vectors to the soft label.

    Embedding(S)      = 1/m sum_{w in S} MyVectorModel(w)         equation 4, S without stop words
    L                 = mean |f(Embedding(S)) - SoftLabel(S)|^2   equation 5
    SentenceVector(S) = f(Embedding(S))                           equation 6

The paper names f's two sizes, the word vectors' and the soft labels', and nothing between them; so f is one linear
layer. A word without a vector counts in m and adds nothing to the sum.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sentence_distillery.io.ragged import Floats


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
