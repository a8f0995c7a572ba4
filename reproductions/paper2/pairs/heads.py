"""Logistic regression on two sentence vectors (paper 2, section 3.1), under binary cross-entropy.

    p = sigmoid(w . c(u, v) + b)

c(u, v) concatenates some of u, v, |u - v| and u*v; paper 2's table 4 compares such combinations:

    u = (1, 2)   v = (3, 1)   c = |u-v|,u*v   gives (2, 1, 3, 2)

With c = u the head reads one vector, as a cross-encoder needs it. The paper also tried hidden layers, and left them
out.
"""

import torch
from torch import Tensor, nn

from reproductions.paper2.pairs.options import Combination


def combine(u: Tensor, v: Tensor, combination: Combination) -> Tensor:
    """Concatenate features of u and v, each (pairs, dimension), to (pairs, parts x dimension)."""
    known = {"u": u, "v": v, "u+v": u + v, "|u-v|": (u - v).abs(), "u*v": u * v}
    return torch.cat([known[part] for part in combination.parts], dim=1)


class LogisticHead(nn.Module):
    """A linear layer, after hidden ones of `dimension` units each; its initial weights depend on `seed` alone."""

    def __init__(self, dimension: int, combination: Combination, seed: int, hidden_layers: int = 0) -> None:
        super().__init__()
        self.combination = combination
        widths = [dimension * len(combination.parts), *[dimension] * hidden_layers]
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            layers = [nn.Sequential(nn.Linear(width, dimension), nn.ReLU()) for width in widths[:-1]]
            self.hidden = nn.Sequential(*layers)
            self.linear = nn.Linear(widths[-1], 1)

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Return the log-odds that each pair is a paraphrase, (pairs,), of u and v, each (pairs, dimension)."""
        logits: Tensor = self.linear(self.hidden(combine(u, v, self.combination)))[:, 0]
        return logits
