"""The cells of paper 2's matrix by name, as its tables have them."""

from dataclasses import asdict, dataclass
from typing import Any

HEADS, WHOLE = "the heads alone", "the encoder too"  # the parts that table 4 trains
_LAYERS = ("", ", one hidden layer", ", two hidden layers", ", three hidden layers")  # of its heads
WITHOUT_LAYERS = {part + layers: part for part in (HEADS, WHOLE) for layers in _LAYERS}  # the trained part, by its name
BY_COSINE = "{} by cosine"  # a metric of a model whose score is that of a head


def trained_part(frozen: bool, hidden_layers: int) -> str:
    """Name the parts that a cell of table 4 trains.

    Example:
        >>> trained_part(True, 0), trained_part(False, 2)
        ('the heads alone', 'the encoder too, two hidden layers')
    """
    return (HEADS if frozen else WHOLE) + _LAYERS[hidden_layers]


@dataclass(frozen=True)
class PairCell:
    """The place of a cell in paper 2's tables; `start` is the recipe of the cross-encoder from which it is trained.

    In table 4 `strategy` is a combination of vectors, and `start` what is trained.
    """

    encoder: str
    pooling: str
    start: str
    strategy: str
    seed: str | None = None  # MODEL_SOUP, or None for all seeds

    @property
    def name(self) -> str:
        """The strategy as the tables of results name it."""
        if self.start in WITHOUT_LAYERS:
            return f"{self.strategy}, {self.start}"
        recipe = "" if (self.start, self.strategy) == ("combined", "pair") else self.start
        name = f"{recipe}-{self.strategy}" if recipe else self.strategy
        return f"{name}, {self.seed}" if self.seed else name

    def content(self) -> dict[str, Any]:
        """Return its entries in paraphrase.json."""
        return asdict(self)
