"""A sentence encoder that can be trained: any encoder by reference, and one of three ways to pool its token outputs.

    MEAN   h = 1/n sum h_i        over the real tokens, special ones included
    MAX    h = max h_i            component by component
    CLS    h = h_1                the token that precedes every sentence

(Paper 2, section 3.1.) The same weights encode either a sentence alone, or two sentences joined into one sequence.

A batch goes through the transformer in groups of similar length, without padding if that is possible
(encoders/packing.py). In training the groups are larger, since the backward pass of each adds to the gradients of all
weights, unless they are padded and the table of tokens is cut.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reproductions.encoders.packing import pack, packed, runs_of
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats
from sentence_distillery.runtime.device import autocast
from sentence_distillery.teachers.pooling import length_batches, weighted_mean
from sentence_distillery.teachers.transformer import CPU_TOKENS, TransformerEncoder

GPU_TOKENS = 2**16  # in a group, padding included
LARGE_GROUP = 2**11  # the same on a CPU in training

Hidden = list[tuple[Tensor, Tensor]]  # token outputs (sequences, tokens, dimension), and the mask of real tokens


class Pooling(StrEnum):
    MEAN = "mean"
    MAX = "max"
    CLS = "cls"


def pool(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Pool to (batch, dimension); hidden (batch, tokens, dimension), mask (batch, tokens) 1 on real tokens, else 0."""
    if pooling is Pooling.CLS:
        return hidden[:, 0]
    if pooling is Pooling.MAX:
        return hidden.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    return weighted_mean(hidden, mask.to(hidden.dtype))


@dataclass(frozen=True)
class Tokens:
    """Sequences as token ids; `types` says for each token which sentence of a pair it belongs to (0 or 1)."""

    ids: list[list[int]]
    types: list[list[int]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Tokens":
        """Return the sequences at `rows`, in that order."""
        return Tokens([self.ids[r] for r in rows], None if self.types is None else [self.types[r] for r in rows])


class PairEncoder(nn.Module):
    """The transformer of a `TransformerEncoder` with a pooling; `transformer` has the parameters that are trained.

    `precision` is of the matrix products, for training; weights, gradients and pooling are float32 either way.
    """

    precision: Precision = "float32"
    places: Tensor | None = None  # of token ids in the table, if that was cut

    def __init__(self, encoder: TransformerEncoder, pooling: Pooling) -> None:
        super().__init__()
        self.encoder = encoder
        self.transformer = encoder.model
        self.pooling = pooling
        self.packs = pack(encoder.model)

    @property
    def dimension(self) -> int:
        """The dimension of the pooled vectors, which no layer of the encoder follows."""
        return int(self.transformer.config.hidden_size)

    @property
    def table(self) -> nn.Embedding:
        """The table of tokens: a row for each token of the tokenizer, or for those that `keep_only` has kept."""
        embedding = self.transformer.get_input_embeddings()
        assert isinstance(embedding, nn.Embedding)
        return embedding

    @property
    def group_tokens(self) -> int:
        """The number of tokens in a group, padding included."""
        if self.transformer.device.type != "cpu":
            return GPU_TOKENS
        return LARGE_GROUP if self.training and (self.packs or self.places is None) else CPU_TOKENS

    def keep_only(self, tokens: Tokens) -> None:
        """Cut the table of tokens down to those of these sequences; from now on it encodes no others.

        The other rows never get a gradient, so training without weight decay does not change them. But each step of
        Adam goes through all of them, and they are two thirds of a small encoder's parameters.
        """
        table = self.table
        first = range(max(self._filler, table.padding_idx or 0) + 1)  # keep their rows: MPNet counts positions by them
        kept = torch.tensor(sorted({*first, *(token for ids in tokens.ids for token in ids)}))
        self.places = torch.full((table.num_embeddings,), -1)
        self.places[kept] = torch.arange(len(kept))
        table.weight = nn.Parameter(table.weight.detach()[kept])
        table.num_embeddings = len(kept)

    @property
    def _filler(self) -> int:
        return self.encoder.tokenizer.pad_token_id or 0

    def tokens(self, sentences: Sequence[str], partners: Sequence[str] | None = None) -> Tokens:
        """Turn sentences into token ids, alone or each joined with its partner, cut at the encoder's maximum length."""
        if not sentences:  # else the tokenizer raises an IndexError
            return Tokens([])
        tokenizer, longest = self.encoder.tokenizer, self.encoder.maximum_length
        if partners is None:
            return Tokens(list(tokenizer(list(sentences), truncation=True, max_length=longest)["input_ids"]))
        typed = getattr(self.transformer.config, "type_vocab_size", 0) > 1  # RoBERTa and MPNet know one sentence only
        encoded = tokenizer(
            list(sentences), list(partners), truncation=True, max_length=longest, return_token_type_ids=typed
        )
        return Tokens(list(encoded["input_ids"]), list(encoded["token_type_ids"]) if typed else None)

    def forward(self, tokens: Tokens) -> Tensor:
        """Compute (sequences, dimension) with gradients, and with dropout if the module is training."""
        return self._in_groups(tokens, lambda hidden, mask: pool(hidden, mask, self.pooling))

    def outputs(self, tokens: Tokens) -> Tensor:
        """Compute the token outputs before pooling, (sequences, longest, dimension), 0 on padding, like `forward`."""
        longest = max(map(len, tokens.ids))
        return self._in_groups(
            tokens, lambda hidden, mask: F.pad(hidden * mask[..., None], (0, 0, 0, longest - hidden.shape[1]))
        )

    def _in_groups(self, tokens: Tokens, finish: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Compute the token outputs of groups of similar length; `finish` gets each with its mask, in float32."""
        order: list[int] = []
        parts = []
        with self._autocast(self.precision):  # around all groups, which share the rounded weights
            for rows in length_batches([len(ids) for ids in tokens.ids], self.group_tokens):
                hidden = (self._packed if self.packs else self._padded)(tokens.take(rows))
                with self._autocast("float32"):
                    parts += [finish(each.float(), mask) for each, mask in hidden]
                order += rows
        return torch.cat(parts)[torch.from_numpy(np.argsort(order)).to(parts[0].device)]

    def _packed(self, tokens: Tokens) -> Hidden:
        """Compute the outputs of concatenated sequences; those of one length must be adjacent."""
        ids = torch.tensor([token for sequence in tokens.ids for token in sequence])
        types = None if tokens.types is None else torch.tensor([kind for types in tokens.types for kind in types])
        runs = runs_of([len(sequence) for sequence in tokens.ids])
        hidden = packed(self.transformer, ids if self.places is None else self.places[ids], types, runs)
        return [(each, each.new_ones(each.shape[:2], dtype=torch.float32)) for each in hidden]

    def _padded(self, tokens: Tokens) -> Hidden:
        """Compute the outputs of padded sequences."""
        ids, mask = padded(tokens.ids, self._filler)
        inputs = {"input_ids": ids if self.places is None else self.places[ids], "attention_mask": mask}
        if tokens.types is not None:
            inputs["token_type_ids"] = padded(tokens.types, 0)[0]
        inputs = {name: tensor.to(self.transformer.device) for name, tensor in inputs.items()}
        return [(self.transformer(**inputs).last_hidden_state, inputs["attention_mask"])]

    @contextmanager
    def in_precision(self, precision: Precision) -> Iterator[None]:
        """Compute matrix products in `precision` within the block."""
        self.precision = precision
        try:
            yield
        finally:
            self.precision = "float32"

    def _autocast(self, precision: Precision) -> torch.autocast:
        return autocast(self.transformer.device, precision)

    @torch.inference_mode()
    def embed(self, tokens: Tokens) -> Floats:
        """Compute (sequences, dimension) float32, without dropout."""
        training = self.training
        self.eval()
        vectors = self(tokens).float().cpu().numpy() if len(tokens) else np.zeros((0, self.dimension), np.float32)
        self.train(training)
        return np.asarray(vectors)


def padded(sequences: Sequence[Sequence[int]], filler: int) -> tuple[Tensor, Tensor]:
    """Pad to (sequences, longest) int64 with `filler` after the short ones; return the mask of real tokens, too."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    ids = torch.full(mask.shape, filler, dtype=torch.long)
    ids[mask] = torch.tensor([token for sequence in sequences for token in sequence])
    return ids, mask.long()
