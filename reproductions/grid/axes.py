"""The axes of an experiment, and the cells that they span, as `matrix:` in dvc.yaml declares them.

    places(encoder=["a", "b"], weight=[0.0, 0.2])        a-0.0, a-0.2, b-0.0, b-0.2

The seeds are one more axis, within a cell (run.py).
"""

from collections.abc import Sequence
from itertools import product
from typing import Any


class Place(dict[str, Any]):
    """The value of a cell on each axis, in the order of the axes.

    Example:
        >>> Place(encoder="minilm-l3", task="stsb", weight=0.2).name
        'minilm-l3-stsb-0.2'
    """

    @property
    def name(self) -> str:
        """The name of the cell, as DVC makes it: that of its stage, and of its directory."""
        return "-".join(map(str, self.values()))


def places(**axes: Sequence[Any]) -> list[Place]:
    """Return the place of every cell; the last axis changes fastest.

    Example:
        >>> [place.name for place in places(encoder=["a", "b"], weight=[0.0])]
        ['a-0.0', 'b-0.0']
    """
    return [Place(zip(axes, values, strict=True)) for values in product(*axes.values())]
