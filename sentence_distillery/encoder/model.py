"""A static model: a vector for each token, and what follows their sum. It knows no file; `persistence` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.exchange.prompts import Prompts
from sentence_distillery.encoder.layers import Layer
from sentence_distillery.encoder.lexical import LexicalChannel, Weight
from sentence_distillery.encoder.tokens import Tokens
from sentence_distillery.io.ragged import Floats

LEVELS: Final = 127  # of int8, on either side of zero
NO_LEVEL: Final = -128
_VALUES: Final = 2**16  # of float16


def as_levels(table: NDArray[np.float16], step: float) -> NDArray[np.int8]:
    """Divide a table of float16 by the step between its levels: k for k * step with |k| <= 127, NO_LEVEL for others."""
    with np.errstate(invalid="ignore"):  # float16 has few enough values to list them, and some are not numbers
        values = np.arange(_VALUES, dtype=np.uint16).view(np.float16).astype(np.float32) / np.float32(step)
    within = np.abs(values) <= LEVELS
    rounded = np.rint(np.where(within, values, 0.0))
    known = np.where(within & (rounded == values), rounded, NO_LEVEL).astype(np.int8)
    levels: NDArray[np.int8] = known[table.view(np.uint16)]
    return levels


@dataclass(frozen=True, eq=False)
class Table:
    """The vectors of all tokens.

    Attributes:
        stored: (tokens, dimension) int8, float16 or float32. Unknown tokens, if they do not count, have row 0: zeros.
        step: The step between the levels that float16 holds, multiples k of it with |k| <= 127; None if there is none.
    """

    stored: NDArray[Any]
    step: float | None = None

    @cached_property
    def floats(self) -> Floats:
        """(tokens, dimension) float32."""
        return self.stored.astype(np.float32, copy=False)

    @cached_property
    def summed(self) -> NDArray[Any]:
        """The numbers that are added up: levels in int8 if the table has levels, which is exact."""
        return self.stored if self.step is None or self.stored.dtype == np.int8 else as_levels(self.stored, self.step)

    @property
    def unit(self) -> float:
        """What a number of `summed` is multiplied by to be one of `stored`."""
        return 1.0 if self.step is None else self.step

    @property
    def dimension(self) -> int:
        """Numbers in the vector of a token."""
        return int(self.stored.shape[1])


@dataclass(frozen=True, eq=False)
class Model:
    """The parts of a model, which encoders share.

    Attributes:
        tokens: How texts become tokens.
        table: Their vectors.
        layer: What is computed of their sum; None if nothing is.
        channel: The lexical channel for the same tokens, whose dimensions follow those of the table.
        lexical_weight: The length of the channel relative to the rest that `encode` has by default.
        search_weight: That of `encode_query` and `encode_document`; None has that of `encode` in long texts.
        truncate_dim: The dimensions that an encoder keeps by default; None keeps all.
        prompts: Texts that are put before a text.
        made_from: What is known of the model's origin.
        card: The model card; None if there is none.
        card_is_saved: Whether it is written with the model. One that was read is not: it describes the files read.
    """

    tokens: Tokens
    table: Table
    layer: Layer | None = None
    channel: LexicalChannel | None = None
    lexical_weight: Weight = 0.0
    search_weight: float | None = None
    truncate_dim: int | None = None
    prompts: Prompts = field(default_factory=Prompts)
    made_from: Mapping[str, object] = field(default_factory=dict)
    card: str | None = None
    card_is_saved: bool = True

    @property
    def origin(self) -> dict[str, object]:
        """`made_from` without the figures, which are of this model's whole table alone."""
        return {key: value for key, value in self.made_from.items() if key != "figures"}

    @property
    def of_means(self) -> bool:
        """Whether a layer needs the mean of all tokens, unknown ones as zeros; others take any multiple of a sum."""
        return self.layer is not None and self.layer.of_means

    def arrays_of(self, kind: type[Layer]) -> tuple[Floats, Floats] | None:
        """Return the parameters of the layer, if it is of this kind."""
        return self.layer.arrays if isinstance(self.layer, kind) else None
