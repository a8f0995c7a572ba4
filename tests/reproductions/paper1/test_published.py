"""The figures that paper 1 prints, as they stand in its text, if that is there."""

from dataclasses import astuple
from pathlib import Path

import pytest

from reproductions.paper1.published import PAPER_1, PAPER_1_SENTIMENT, TABLE_1

PAPER = Path(__file__).parents[4] / "shared/papers/paper1-kld-roberta-distillation.txt"
pytestmark = pytest.mark.skipif(not PAPER.is_file(), reason=f"{PAPER} is not there")


def figures_after(caption: str, count: int) -> dict[str, tuple[float, ...]]:
    """Read so many rows of a table, whose columns are tabs apart."""
    cells = [line.split("\t") for line in PAPER.read_text(encoding="utf-8").partition(caption)[2].splitlines()]
    rows = [row for row in cells if len(row) == 4 and row[1][:1].isdigit()][:count]
    return {name: tuple(map(float, figures)) for name, *figures in rows}


@pytest.mark.parametrize("table", ["4", "5", "6"])
def test_similarity(table: str) -> None:
    ours = {name: astuple(printed)[1:] for (name, _), printed in PAPER_1.items() if printed.table == table}
    assert len(ours) == 7 and figures_after(f"\nTable {table}.", 7) == ours


def test_sentiment() -> None:
    """But for MyModel, whose cells the text has elsewhere."""
    ours = {name: astuple(printed) for name, printed in PAPER_1_SENTIMENT.items() if name != "MyModel"}
    assert figures_after("Table 3 presents", 6) == ours


def test_cosines_of_two_pairs() -> None:
    text = PAPER.read_text(encoding="utf-8")
    for row in TABLE_1:
        assert f"{row.sentence1} {row.sentence2}\t{row.before:.2f}\t{row.after:.2f}\n" in text
