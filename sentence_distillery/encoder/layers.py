"""What may follow the sum of token vectors: a class for each kind of layer, which computes it, saves it and loads it.

A layer is saved as Dense modules of sentence-transformers, so that this library computes there, too. It does not know
how such a module, which has a number from 0, becomes files: `save` and `load` get an object that does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from sentence_distillery.io.ragged import Floats

if TYPE_CHECKING:
    from sentence_distillery.encoder.persistence.dense import DenseFolders

WEIGHT: Final = "linear.weight"
BIAS: Final = "linear.bias"

Shapes = Mapping[str, tuple[int | None, ...]]


class Layer(ABC):
    """A layer.

    Attributes:
        kind: Its name in config.json.
        modules: The number of Dense modules that it is saved as.
        of_means: Whether it needs means of all tokens, unknown ones as zeros; or any multiple of their sum will do.
    """

    kind: ClassVar[str]
    modules: ClassVar[int]
    of_means: ClassVar[bool]

    @abstractmethod
    def apply(self, vectors: Floats) -> Floats:
        """Compute (texts, dimension) of (texts, dimension before it)."""

    @abstractmethod
    def save(self, dense: DenseFolders) -> None:
        """Write the layer as Dense modules."""

    @classmethod
    @abstractmethod
    def load(cls, dense: DenseFolders, width: int) -> Self:
        """Read the layer, whose input has `width` numbers."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Numbers that it gives."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[Floats, Floats]:
        """Its parameters."""


@dataclass(frozen=True, eq=False)
class Linear(Layer):
    """W v + b, for the mean v of a text: paper 1's student.

    Attributes:
        weight: (dimension, input) float32.
        bias: (dimension,) float32.

    Example:
        >>> ones = np.ones((1, 2), np.float32)
        >>> Linear(ones, ones[0, :1]).apply(ones).tolist()
        [[3.0]]
    """

    weight: Floats
    bias: Floats
    kind: ClassVar[str] = "paper"
    modules: ClassVar[int] = 1
    of_means: ClassVar[bool] = True

    def apply(self, vectors: Floats) -> Floats:
        return vectors @ self.weight.T + self.bias

    def save(self, dense: DenseFolders) -> None:
        dense.write(0, "linear.Identity", self.weight, self.bias)

    @classmethod
    def load(cls, dense: DenseFolders, width: int) -> Self:
        tensors = dense.read(0, {WEIGHT: (None, width), BIAS: (None,)}, "Identity")
        weight, bias = tensors[WEIGHT], tensors[BIAS]
        if len(weight) != len(bias):
            raise dense.refuse(f"the weight has {len(weight)} rows and the bias {len(bias)}")
        return cls(weight, bias)

    @property
    def dimension(self) -> int:
        return len(self.weight)

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """The weight and the bias."""
        return self.weight, self.bias


@dataclass(frozen=True, eq=False)
class Hidden(Layer):
    """s + relu(s A) B, for a sum s: an MLP head. It has no bias, so a multiple of a sum stays a multiple.

    sentence-transformers cannot add a layer's input to its output. Since s = relu(s) - relu(-s), two Dense modules do
    the same: relu(s [I, -I, A]) [I, -I, B], the second one's blocks below each other.

    Attributes:
        widen: A, (dimension, units) float32.
        narrow: B, (units, dimension) float32.

    Example:
        >>> ones = np.ones((1, 2), np.float32)
        >>> Hidden(ones.T, ones).apply(np.array([[1, 2], [-1, -2]], np.float32)).tolist()
        [[4.0, 5.0], [-1.0, -2.0]]
    """

    widen: Floats
    narrow: Floats
    kind: ClassVar[str] = "deep"
    modules: ClassVar[int] = 2
    of_means: ClassVar[bool] = False

    def apply(self, vectors: Floats) -> Floats:
        deepened: Floats = vectors + np.maximum(vectors @ self.widen, 0.0) @ self.narrow
        return deepened

    def save(self, dense: DenseFolders) -> None:
        same = np.eye(self.dimension, dtype=np.float32)
        dense.write(0, "activation.ReLU", np.concatenate([same, -same, self.widen.T]))
        dense.write(1, "linear.Identity", np.concatenate([same, -same, self.narrow.T], axis=1))

    @classmethod
    def load(cls, dense: DenseFolders, width: int) -> Self:
        """Read two Dense modules, if they are [I, -I, A] and [I, -I, B]."""
        widen = dense.read(0, {WEIGHT: (None, width)}, "ReLU")[WEIGHT]
        narrow = dense.read(1, {WEIGHT: (width, len(widen))}, "Identity")[WEIGHT]

        # The blocks that pass the input on have to be there, or A and B would be cut at the wrong place.
        same = np.eye(width, dtype=np.float32)
        identities, given = np.concatenate([same, -same]), 2 * width
        if not (np.array_equal(widen[:given], identities) and np.array_equal(narrow[:, :given], identities.T)):
            raise dense.refuse("its two Dense modules do not fit a student with an MLP head")
        return cls(np.ascontiguousarray(widen[given:].T), np.ascontiguousarray(narrow[:, given:].T))

    @property
    def dimension(self) -> int:
        return len(self.widen)

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """A and B."""
        return self.widen, self.narrow


KINDS: Final[tuple[type[Layer], ...]] = (Linear, Hidden)
