"""The cells of paper 2's matrix by name, as its tables have them."""

from dataclasses import asdict, dataclass
from typing import Any

HEADS, WHOLE = "the heads alone", "the encoder too"  # what table 4 trains
BY_COSINE = "{} by cosine"  # a metric of a model whose score is that of a head


@dataclass(frozen=True)
class Cell:
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
        if self.start in (HEADS, WHOLE):
            return f"{self.strategy}, {self.start}"
        recipe = "" if (self.start, self.strategy) == ("combined", "pair") else self.start
        name = f"{recipe}-{self.strategy}" if recipe else self.strategy
        return f"{name}, {self.seed}" if self.seed else name

    def content(self) -> dict[str, Any]:
        """Return its entries in paraphrase.json."""
        return asdict(self)
