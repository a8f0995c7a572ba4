"""Sequences of different lengths through a transformer without padding.

Of a batch of STS-B with its components a third of the positions are empty when padded in groups of 512, two thirds
in groups of 2,048, and each costs what a token costs. Packed, all sequences stand one behind the other in a single row,
sorted by length; everything but attention works token by token and never notices, and attention goes over each run of
sequences of one length as over an unpadded batch. (Flash attention packs in the same way, but only on a GPU.)
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PACKED = "packed"
ARCHITECTURES = ("bert", "roberta", "albert")  # which look their attention up; MPNet has its own

Run = tuple[int, int]  # (sequences, tokens of each)


def pack(transformer: "PreTrainedModel") -> bool:
    """Make a transformer ready for `packed`, where its architecture allows and it is on a CPU; whether it is."""
    if transformer.device.type != "cpu" or transformer.config.model_type not in ARCHITECTURES:
        return False
    from transformers import AttentionInterface  # three seconds, for those who have a transformer

    AttentionInterface.register(PACKED, packed_attention)
    transformer.set_attn_implementation(PACKED)
    return True


def runs_of(lengths: Sequence[int]) -> list[Run]:
    """
    >>> runs_of([5, 5, 3])
    [(2, 5), (1, 3)]
    """
    return [(len(list(group)), length) for length, group in groupby(lengths)]


def split(flat: Tensor, runs: list[Run]) -> list[Tensor]:
    """(sequences, length, …) of each run, from (tokens, …) of all."""
    parts = torch.split(flat, [count * length for count, length in runs])
    return [part.view(*run, *flat.shape[1:]) for part, run in zip(parts, runs, strict=True)]


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    runs: list[Run],
    dropout: float = 0.0,
    scaling: float | None = None,
    **unused: object,
) -> tuple[Tensor, None]:
    """What transformers asks of an attention: (1, tokens, heads, width) of three (1, heads, tokens, width).

    No token attends to one of another sequence; there is no mask.
    """
    parts = []
    for q, k, v in zip(*(split(each[0].transpose(0, 1), runs) for each in (query, key, value)), strict=True):
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        found = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scaling)
        parts.append(found.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)[None], None


def packed(transformer: "PreTrainedModel", ids: Tensor, types: Tensor | None, runs: list[Run]) -> list[Tensor]:
    """Token outputs of each run, (sequences, length, dimension), for ids and types (tokens,) of all runs."""
    config = transformer.config
    first = config.pad_token_id + 1 if config.model_type == "roberta" else 0
    positions = torch.cat([torch.arange(first, first + length).repeat(count) for count, length in runs])
    inputs = {"input_ids": ids, "position_ids": positions} | ({} if types is None else {"token_type_ids": types})
    found = transformer(**{name: tensor[None] for name, tensor in inputs.items()}, runs=runs)
    return split(found.last_hidden_state[0], runs)
