"""The weights of a sentence's parts, relative to the sentence: a number, as in paper 3, or learnt with the encoder.

    emb_S = e(S) + sum_k w_k e(S_k)                                order: after_pooling
    emb_S = pool_i (h_i(S) + sum_k w_k h_i(S_k))                   order: before_pooling

    a number    S_1 is the component of S, and w_1 = W_cf is fixed (equation 1)
    one         the same, w_1 is learnt
    roles       S_1, S_2, S_3 are the subjects, the predicates and the objects in it; w_1, w_2 and w_3 are learnt
    tags        S_k are the words of S with the universal part of speech k, as the paper's future work has it
    gate        S_1 is the component, and w_1 = b + g e(S) / |e(S)| is each sentence's own; b and g are learnt

Section 3.2.1 of paper 3 adds the outputs for the tokens, h_i, and then pools them; equation 1 and section 3.1 can also
be read as a sum of pooled vectors. A component has fewer tokens than its sentence; the first is added to the first, and
what is missing at the end counts as 0. So the mean is e(S) + sum_k w_k m_k / m e(S_k), for m and m_k tokens: half the
weight if the component is half as long. The first token, CLS, is the same either way.

Learnt weights start at 0. frozen_weights.py is for frozen encoders; it adds pooled vectors.
"""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reproductions.paper3.component_focus.options import PoolingOrder
from reproductions.paper3.syntax.components import Role

Learning = Literal["one", "roles", "tags", "gate"]
Weight = float | Learning

ROLES: tuple[Role, ...] = get_args(Role)
OPEN = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
CLOSED = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
TAGS: tuple[str, ...] = (*OPEN, *CLOSED, "PUNCT", "SYM", "X")
RATE = 50.0  # how much faster than the encoder the weights learn


def weight_of(text: str) -> Weight:
    """Parse a weight from the command line; raises ValueError if it is not one."""
    return next((kind for kind in get_args(Learning) if kind == text), None) or float(text)


class Weights(nn.Module):
    """The weights of the parts in `names`."""

    def __init__(self, weight: Weight, dimension: int, order: PoolingOrder = "before_pooling") -> None:
        super().__init__()
        self.weight = weight
        self.order = order
        self.names: tuple[str, ...] = {"roles": ROLES, "tags": TAGS}.get(str(weight), ("component",))
        self.values = nn.Parameter(torch.zeros(len(self.names))) if isinstance(weight, str) else None
        self.gate = nn.Parameter(torch.zeros(dimension)) if weight == "gate" else None

    def forward(self, basic: Tensor, parts: Tensor) -> Tensor:
        """Compute emb_S from e(S), both (sentences, dimension), and e(S_k), (sentences, names, dimension).

        If the weight is a number, there may be a dimension of tokens, too, after that of names.
        """
        if self.values is None:
            return basic + float(self.weight) * parts[:, 0]
        weights = self.values.expand(len(basic), -1)
        if self.gate is not None:
            weights = weights + (F.normalize(basic) @ self.gate)[:, None]
        return basic + RATE * (weights[:, :, None] * parts).sum(dim=1)

    def learnt(self) -> dict[str, float]:
        """Return the learnt weights by name (for a gate: b); nothing if the weight is a number."""
        if self.values is None:
            return {}
        return dict(zip(self.names, (RATE * self.values).tolist(), strict=True))
