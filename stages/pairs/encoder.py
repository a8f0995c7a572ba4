"""A sentence encoder that can be trained: any encoder by reference, and one of three ways to pool its token outputs.

    MEAN   h = 1/n sum h_i        over the real tokens, special ones included
    MAX    h = max h_i            component by component
    CLS    h = h_1                the token that stands before every sentence

(Paper 2, section 3.1.) The same weights encode either a sentence alone, or two sentences joined into one sequence.

A batch goes through the transformer in groups of similar length, so that little of the work is padding: of 24 sentences
of MRPC padded together a third of the positions are empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from stages.ragged import Floats
from stages.teacher.encoders import CPU_TOKENS, Encoder
from stages.teacher.pooling import length_batches, weighted_mean

GPU_TOKENS = 2**16  # in a group, padding included


class Pooling(StrEnum):
    MEAN = "mean"
    MAX = "max"
    CLS = "cls"


def pool(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """(batch, dimension) of hidden (batch, tokens, dimension); mask (batch, tokens) is 1 on real tokens, else 0."""
    if pooling is Pooling.CLS:
        return hidden[:, 0]
    if pooling is Pooling.MAX:
        return hidden.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    return weighted_mean(hidden, mask.to(hidden.dtype))


@dataclass(frozen=True)
class Tokens:
    """Sequences as token ids; `types` says of each token which sentence of a joined pair it belongs to (0 or 1)."""

    ids: list[list[int]]
    types: list[list[int]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Tokens":
        """The sequences at `rows`, in that order."""
        return Tokens([self.ids[r] for r in rows], None if self.types is None else [self.types[r] for r in rows])


class PairEncoder(nn.Module):
    """The transformer of an `Encoder` with a pooling; `transformer` has the parameters that training changes."""

    def __init__(self, encoder: Encoder, pooling: Pooling) -> None:
        super().__init__()
        self.encoder = encoder
        self.transformer = encoder.model
        self.pooling = pooling
        self.group_tokens = CPU_TOKENS if encoder.model.device.type == "cpu" else GPU_TOKENS

    @property
    def dimension(self) -> int:
        return self.encoder.dimension

    def tokens(self, sentences: Sequence[str], partners: Sequence[str] | None = None) -> Tokens:
        """Sentences as token ids, alone or each joined with its partner, cut at the encoder's maximum length."""
        if not sentences:  # for which the tokenizer has an IndexError
            return Tokens([])
        tokenizer, longest = self.encoder.tokenizer, self.encoder.maximum_length
        if partners is None:
            return Tokens(list(tokenizer(list(sentences), truncation=True, max_length=longest)["input_ids"]))
        typed = getattr(self.transformer.config, "type_vocab_size", 0) > 1  # RoBERTa and MPNet know one sentence only
        found = tokenizer(
            list(sentences), list(partners), truncation=True, max_length=longest, return_token_type_ids=typed
        )
        return Tokens(list(found["input_ids"]), list(found["token_type_ids"]) if typed else None)

    def forward(self, tokens: Tokens) -> Tensor:
        """(sequences, dimension), with gradients, and with dropout where the module is training."""
        order: list[int] = []
        parts = []
        for rows in length_batches([len(ids) for ids in tokens.ids], self.group_tokens):
            parts.append(self._group(tokens.take(rows)))
            order += rows
        return torch.cat(parts)[torch.from_numpy(np.argsort(order)).to(parts[0].device)]

    def _group(self, tokens: Tokens) -> Tensor:
        """As `forward`, padded together."""
        ids, mask = padded(tokens.ids, self.encoder.tokenizer.pad_token_id or 0)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if tokens.types is not None:
            inputs["token_type_ids"] = padded(tokens.types, 0)[0]
        inputs = {name: tensor.to(self.transformer.device) for name, tensor in inputs.items()}
        hidden = self.transformer(**inputs).last_hidden_state
        return pool(hidden, inputs["attention_mask"], self.pooling)

    @torch.inference_mode()
    def embed(self, tokens: Tokens) -> Floats:
        """(sequences, dimension) float32, without dropout."""
        training = self.training
        self.eval()
        found = self(tokens).float().cpu().numpy() if len(tokens) else np.zeros((0, self.dimension), np.float32)
        self.train(training)
        return np.asarray(found)


def padded(sequences: Sequence[Sequence[int]], filler: int) -> tuple[Tensor, Tensor]:
    """(sequences, longest) int64 of the sequences, `filler` behind the short ones, and the mask of what is real."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    found = torch.full(mask.shape, filler, dtype=torch.long)
    found[mask] = torch.tensor([token for sequence in sequences for token in sequence])
    return found, mask.long()
