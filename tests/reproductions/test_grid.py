"""The grid of experiments: places, runs over seeds and their mean, and cells on disk, damaged ones among them."""

import doctest
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from torch import nn

from reproductions import claims
from reproductions.grid import axes
from reproductions.grid.axes import Place, places
from reproductions.grid.cell import ABOUT, PREDICTIONS, SOUP, Cell, read_cell, write_cell
from reproductions.grid.results import NOT_RUN, not_run, over_runs, read_cells
from reproductions.grid.run import run
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError

PLACE = Place(encoder="tiny", weight=0.2)


def model(value: float) -> nn.Linear:
    made = nn.Linear(1, 1, bias=False)
    nn.init.constant_(made.weight, value)
    return made


def weight(of: nn.Module) -> float:
    return float(next(of.parameters()).item())


@dataclass
class Known:
    """An experiment whose models have a known weight by seed, and whose quality is one of two functions of it."""

    weights: dict[int, float]
    before: float | None = None
    quality: Callable[[float], float] = field(default=lambda value: value)
    costs: dict[str, float] = field(default_factory=lambda: {"seconds": 1.0})

    def untrained(self) -> nn.Linear | None:
        return None if self.before is None else model(self.before)

    def trained(self, seed: int) -> tuple[nn.Linear, list[dict[str, Any]]]:
        return model(self.weights[seed]), [{"loss": 1.0}]

    def scored(self, model: nn.Linear, notes: Sequence[object]) -> tuple[dict[str, Any], dict[str, float]]:
        value = weight(model)
        return {"test": {"score": [value, -value]}}, {"quality": self.quality(value), **self.costs}


@pytest.mark.parametrize(
    ("values", "wanted", "best"),
    [((1.0, 3.0), 9.0, 1), ((2.0, 2.0), 2.0, 0), ((0.0, 9.0, 3.0), 9.0, 1), ((1.0, 5.0), 3.0, SOUP)],
)
def test_the_best_of_seeds_and_soup(values: tuple[float, ...], wanted: float, best: int) -> None:
    """The mean of the weights is one more run, which takes as long as all seeds; of equal ones the first is best."""
    experiment = Known(dict(enumerate(values)), quality=lambda value: -abs(value - wanted))
    made = run(PLACE, lambda: experiment, range(len(values)), "quality")
    mean = sum(values) / len(values)
    assert made.cell.seeds == [*range(len(values)), SOUP]
    assert made.cell.column("score").tolist() == [pytest.approx([value, -value]) for value in (*values, mean)]
    assert made.cell.there[-1].figures == {"quality": pytest.approx(-abs(mean - wanted)), "seconds": len(values)}
    assert made.best is not None and made.best[1].seed == best
    assert weight(made.best[0]) == pytest.approx(mean if best == SOUP else values[best])


def test_one_seed_or_none_has_no_soup() -> None:
    experiment = Known({1: 5.0}, before=2.0)
    assert run(PLACE, lambda: experiment, [1]).cell.seeds == [None, 1]
    assert run(PLACE, lambda: experiment, []).cell.seeds == [None]
    assert run(PLACE, lambda: Known({1: 1.0, 2: 2.0}), [1, 2], soup=False).cell.seeds == [1, 2]
    assert run(PLACE, lambda: experiment, [1]).best is None


def test_an_experiment_that_is_not_timed() -> None:
    found = run(PLACE, lambda: Known({1: 1.0, 2: 2.0}, costs={}), [1, 2])
    assert [made.figures for made in found.cell.there] == [{"quality": 1.0}, {"quality": 2.0}, {"quality": 1.5}]


@pytest.mark.fault(24)
def test_what_is_absent_is_said() -> None:
    """By the builder, or because weights are missing."""

    def absent() -> Known:
        raise AbsentModelError("no such model", "tiny")

    assert run(PLACE, absent, [1]).cell == Cell(PLACE, NO_WEIGHTS)
    reason = Unavailable("the set stsb is absent")
    assert run(PLACE, lambda: reason, [1], data="of these").cell == Cell(PLACE, reason, data="of these")


def written(directory: Path) -> Cell:
    cell = run(PLACE, lambda: Known({1: 1.0, 2: 2.0}, before=0.0), [1, 2], data="these").cell
    write_cell(directory / cell.place.name, cell)
    untimed = [replace(run, figures={"quality": run.figures["quality"]}) for run in cell.there]
    return replace(cell, runs=untimed)


def test_a_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    """All but its seconds: equal cells are equal files."""
    cell = written(tmp_path)
    found = read_cell(tmp_path / "tiny-0.2")
    assert found == cell and found.place.name == "tiny-0.2"
    assert [part.seeds for part in found.parts()] == [[1, 2], [SOUP], [None]]
    assert found.right.shape == (4, 0)  # nothing was predicted


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    written(tmp_path)
    about, table = tmp_path / "tiny-0.2" / ABOUT, tmp_path / "tiny-0.2" / PREDICTIONS
    whole, content = table.read_bytes(), json.loads(about.read_text())
    cases = (
        (about, b"{", r"cell\.json cannot be read"),
        (about, json.dumps(content | {"runs": content["runs"][:2]}).encode(), r"predictions\.parquet cannot be read"),
        (about, json.dumps({"place": {}}).encode(), r"cell\.json cannot be read: absent: Field required"),
        (table, whole[:-10], r"predictions\.parquet cannot be read"),
    )
    for path, damaged, message in cases:
        kept = path.read_bytes()
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=message) as caught:
            read_cell(tmp_path / "tiny-0.2")
        assert caught.value.path == (table if "parquet" in message else about)
        path.write_bytes(kept)
    with pytest.raises(InputError, match="does not exist"):
        read_cell(tmp_path / "nowhere")


def test_cells_of_other_data_and_cells_that_were_not_run(tmp_path: Path) -> None:
    cell = written(tmp_path)
    write_cell(tmp_path / "other", replace(cell, place=Place(encoder="other", weight=0.2), data="those"))
    counters = Counters("cells")
    found = read_cells([tmp_path], "these", counters)
    assert found == {"tiny-0.2": cell}
    missing = not_run(places(encoder=["tiny", "other"], weight=[0.2]), found, counters)
    assert missing == [Cell(Place(encoder="other", weight=0.2), NOT_RUN)]
    assert (counters.kept, counters.dropped) == (1, {"made from other pairs": 1, "not run": 1})


def test_a_row_over_the_runs() -> None:
    row = Result("tiny", "sick", "test", "cosine", "pearson", 0.0, 3)
    two = over_runs(row, [0.2, 0.4])
    assert two.value == pytest.approx(0.3) and two.spread == pytest.approx(0.02**0.5) and two.seeds == 2
    assert over_runs(row, [0.2]) == replace(row, value=0.2)
    assert over_runs(row, [0.2, NOT_RUN]) == replace(row, value=NOT_RUN, seeds=2)


@pytest.mark.parametrize("module", [axes, claims])
def test_the_examples(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
