"""A heat map of two groups of words or strategies, in SVG user units; the product's templates/macros.html draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sentence_distillery.reporting.charts import LETTER, Frame, Tick

CELL = 46.0


@dataclass(frozen=True)
class HeatMapCell:
    """Two words; `shade` is their cosine cut to [0, 1], `text` the cosine itself."""

    x: float
    y: float
    shade: float
    text: str
    tip: str

    @property
    def dark(self) -> bool:
        return self.shade > 0.55


@dataclass(frozen=True)
class HeatMap:
    """Words of one sentence (down) against those of another (across); `left_out` have no vector."""

    title: str
    alt: str
    frame: Frame
    size: float
    rows: list[Tick]
    columns: list[Tick]
    cells: list[HeatMapCell]
    left_out: list[str]


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cosines: Sequence[Sequence[float]],
    left_out: Sequence[str],
) -> HeatMap:
    """Draw a square for each two words; the labels are left of the rows and, slanted, above the columns."""
    # The margins follow the longest word; slanted labels need three quarters of their length in height.
    left, top = (
        12.0 + LETTER * max((len(word) for word in words), default=0) * part
        for words, part in ((rows, 1), (columns, 0.75))
    )
    frame = Frame(
        left + CELL * len(columns) + 4 * LETTER,
        top + CELL * len(rows),
        left,
        top,
        left + CELL * len(columns),
        top + CELL * len(rows),
    )
    cells = [
        HeatMapCell(
            left + CELL * x,
            top + CELL * y,
            round(min(max(cosine, 0.0), 1.0), 3),
            f"{cosine:.2f}".replace("-", "\N{MINUS SIGN}"),
            f"{one} – {other}: {cosine:.3f}",
        )
        for y, (one, line) in enumerate(zip(rows, cosines, strict=True))
        for x, (other, cosine) in enumerate(zip(columns, line, strict=True))
    ]
    return HeatMap(
        title,
        f"{title}: cosines of {', '.join(rows)} with {', '.join(columns)}. "
        + "; ".join(cell.tip for cell in cells)
        + ".",
        frame,
        CELL,
        [Tick(top + CELL * (y + 0.5), word) for y, word in enumerate(rows)],
        [Tick(left + CELL * (x + 0.5), word) for x, word in enumerate(columns)],
        cells,
        list(dict.fromkeys(left_out)),
    )
