"""Sequences of different lengths through a transformer without padding.

Of a batch of STS-B with its components a third of the positions are empty when padded in groups of 512, two thirds
in groups of 2,048, and each costs what a token costs. Packed, all sequences are concatenated in a single row, sorted by
length. Everything but attention works token by token and is not affected. Attention treats each run of sequences of one
length like an unpadded batch. (Flash attention packs in the same way, but only on a GPU.)

BERT, RoBERTa and ALBERT look up their attention in a table of transformers. MPNet has its own, with a bias by the
distance of two tokens, so this module runs its layers itself.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PACKED = "packed"
MPNET = "mpnet"
ARCHITECTURES = ("bert", "roberta", "albert", MPNET)

EqualLengths = tuple[int, int]  # (sequences, tokens of each)


def pack(transformer: "PreTrainedModel") -> bool:
    """Make a transformer ready for `packed` if its architecture allows and it is on a CPU; return whether it is."""
    if transformer.device.type != "cpu" or transformer.config.model_type not in ARCHITECTURES:
        return False
    if transformer.config.model_type != MPNET:
        from transformers import AttentionInterface  # takes three seconds, needed only with a transformer

        AttentionInterface.register(PACKED, packed_attention)
        transformer.set_attn_implementation(PACKED)
    return True


def runs_of(lengths: Sequence[int]) -> list[EqualLengths]:
    """Group equal consecutive lengths.

    >>> runs_of([5, 5, 3])
    [(2, 5), (1, 3)]
    """
    return [(len(list(group)), length) for length, group in groupby(lengths)]


def split(flat: Tensor, runs: list[EqualLengths]) -> list[Tensor]:
    """Split (tokens, …) of all runs into (sequences, length, …) of each."""
    parts = torch.split(flat, [count * length for count, length in runs])
    return [part.view(*run, *flat.shape[1:]) for part, run in zip(parts, runs, strict=True)]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    runs: list[EqualLengths],
    biases: Sequence[Tensor | None],
    dropout: float,
    scaling: float | None = None,
) -> Tensor:
    """Attend from each token to its own sequence; three arrays (tokens, heads, width) to one.

    `biases` has a term to add to the scores of each run, (1, heads, length, length), or None.
    """
    parts = []
    for q, k, v, bias in zip(*(split(each, runs) for each in (query, key, value)), biases, strict=True):
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v, bias, dropout, scale=scaling)
        parts.append(attended.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    runs: list[EqualLengths],
    dropout: float = 0.0,
    scaling: float | None = None,
    **unused: object,
) -> tuple[Tensor, None]:
    """Attend with the signature of transformers: three (1, heads, tokens, width) to (1, tokens, heads, width)."""
    query, key, value = (each[0].transpose(0, 1) for each in (query, key, value))
    return attend(query, key, value, runs, [None] * len(runs), dropout, scaling)[None], None


def packed(transformer: Any, ids: Tensor, types: Tensor | None, runs: list[EqualLengths]) -> list[Tensor]:
    """Compute token outputs of each run, (sequences, length, dimension), for ids and types (tokens,) of all runs."""
    first = getattr(transformer.embeddings, "padding_idx", -1) + 1  # RoBERTa and MPNet count from after the padding
    positions = torch.cat([torch.arange(first, first + length).repeat(count) for count, length in runs])
    inputs = {"input_ids": ids[None], "position_ids": positions[None]}
    if transformer.config.model_type == MPNET:
        return split(_through_mpnet(transformer.encoder, transformer.embeddings(**inputs), runs)[0], runs)
    if types is not None:
        inputs["token_type_ids"] = types[None]
    return split(transformer(**inputs, runs=runs).last_hidden_state[0], runs)


def _through_mpnet(encoder: Any, hidden: Tensor, runs: list[EqualLengths]) -> Tensor:
    """Send the embeddings of all tokens, (1, tokens, dimension), through MPNet's layers."""
    biases = [encoder.compute_position_bias(hidden[:, :length]) for _, length in runs]
    for layer in encoder.layer:
        around, own = layer.attention, layer.attention.attn
        shape = (-1, own.num_attention_heads, own.attention_head_size)
        query, key, value = (linear(hidden).view(shape) for linear in (own.q, own.k, own.v))
        attended = attend(query, key, value, runs, biases, own.dropout.p if own.training else 0.0)
        attended = around.LayerNorm(around.dropout(own.o(attended.flatten(1))) + hidden)
        hidden = layer.output(layer.intermediate(attended), attended)
    return hidden
