"""A cell of an experiment on disk, in the same two files for every experiment.

    predictions.parquet    a row for each run and pair: seed, split, human rating on [0, 1], the model's score, label,
                           predicted label; a run has what its experiment needs, the rest is null
    cell.json              the place on the axes, the SHA-256 of the data or "", why there are no runs or null, and the
                           runs: seed, figures by name, notes of each epoch

A run is one model that was scored. Its seed is null before any training, and SOUP for the model soup of all seeds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reproductions.grid.axes import Place
from sentence_distillery.io.artifacts import read_json, read_table, unreadable, write_json, write_table
from sentence_distillery.io.contents import Absent, Content
from sentence_distillery.io.unavailable import Unavailable, from_json, to_json

PREDICTIONS = "predictions.parquet"
ABOUT = "cell.json"
SECONDS = "seconds"
SOUP = -1  # in place of a seed
TEST = "test"
SCHEMA = pa.schema(
    [
        ("seed", pa.int64()),
        ("split", pa.string()),
        ("rating", pa.float32()),
        ("score", pa.float32()),
        ("label", pa.string()),
        ("predicted", pa.string()),
    ]
)
Predictions = Mapping[str, Mapping[str, Any]]  # by split: columns of SCHEMA, (pairs,) each, score among them


def table_of(seed: int | None, predictions: Predictions) -> pa.Table:
    """Make the rows of one run; a column that is not given, or None, is null."""
    tables = []
    for split, columns in predictions.items():
        nulls = [None] * len(columns["score"])
        whole = {"seed": [seed] * len(nulls), "split": [split] * len(nulls), **columns}
        values = [nulls if whole.get(each.name) is None else whole[each.name] for each in SCHEMA]
        arrays = [pa.array(column, each.type) for column, each in zip(values, SCHEMA, strict=True)]
        tables.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    return pa.concat_tables(tables)


@dataclass(frozen=True)
class TrainedRun:
    """One model of a cell: its seed, its results, and the notes of each epoch of its training."""

    seed: int | None
    figures: dict[str, float] = field(default_factory=dict)
    notes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Cell:
    """A cell as it is read.

    Attributes:
        place: Its place on the axes.
        runs: One for each seed, or the reason why there are none.
        table: The predictions of at least these runs, of SCHEMA.
        data: The SHA-256 of what it was made from; empty if DVC alone watches that.
    """

    place: Place
    runs: list[TrainedRun] | Unavailable
    table: pa.Table = field(default_factory=SCHEMA.empty_table)
    data: str = ""

    @property
    def unavailable(self) -> Unavailable | None:
        """Why there are no runs, or None."""
        return self.runs if isinstance(self.runs, Unavailable) else None

    @property
    def there(self) -> list[TrainedRun]:
        """The runs, none if the cell is not available."""
        return [] if isinstance(self.runs, Unavailable) else self.runs

    @property
    def seeds(self) -> list[int | None]:
        """The seeds of the runs."""
        return [run.seed for run in self.there]

    @property
    def soup(self) -> bool:
        """Whether it is the model soup alone."""
        return self.seeds == [SOUP]

    def of(self, seeds: Sequence[int | None]) -> "Cell":
        """Return the cell with the runs of these seeds alone, in this order."""
        return replace(self, runs=[run for seed in seeds for run in self.there if run.seed == seed])

    def parts(self) -> list["Cell"]:
        """Return three parts of a table: the runs with a seed, the model soup, and the model before training."""
        seeded = [seed for seed in self.seeds if seed not in (None, SOUP)]
        kinds = [self.of(kind) for kind in (seeded, [SOUP], [None])]
        return [self] if self.unavailable else [kind for kind in kinds if kind.seeds]

    def column(self, name: str, split: str = TEST) -> NDArray[Any]:
        """Return a column of SCHEMA for the pairs of a split, (runs, pairs)."""
        rows = self.table.filter(pc.equal(self.table["split"], split))
        chosen = [pc.is_null(rows["seed"]) if seed is None else pc.equal(rows["seed"], seed) for seed in self.seeds]
        return np.stack([rows.filter(run)[name].to_numpy() for run in chosen])

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which test pairs got their label, (runs, pairs); (runs, 0) if none was predicted."""
        predicted = self.column("predicted")
        return np.asarray(predicted == self.column("label"), bool)[:, : 0 if None in predicted else None]


class _RunContent(Content):
    seed: int | None
    figures: dict[str, float]
    notes: list[dict[str, Any]]


class _Content(Absent):
    place: dict[str, bool | float | str]
    data: str
    runs: list[_RunContent]


def write_cell(directory: Path, cell: Cell) -> None:
    """Write a cell without its seconds; one without runs has an empty table."""
    write_table(directory / PREDICTIONS, cell.table)
    runs = [_untimed(asdict(run)) for run in cell.there]
    write_json(directory / ABOUT, {"place": cell.place, "data": cell.data, **to_json(cell.unavailable), "runs": runs})


def _untimed(run: dict[str, Any]) -> dict[str, Any]:
    """Leave out seconds, which differ from run to run: equal cells are equal files."""
    notes = [{name: value for name, value in note.items() if name != SECONDS} for note in run["notes"]]
    figures = {name: value for name, value in run["figures"].items() if name != SECONDS}
    return run | {"figures": figures, "notes": notes}


def read_cell(directory: Path) -> Cell:
    """Read a cell.

    Args:
        directory: A directory that `write_cell` wrote.

    Raises:
        InputError: If a file is missing or damaged, or the predictions are not those of the runs; it names the file.
    """
    path = directory / ABOUT
    about = read_json(path, _Content)
    runs = [TrainedRun(**run) for run in about["runs"]]
    table = read_table(directory / PREDICTIONS, SCHEMA)
    counts = Counter(table.filter(pc.equal(table["split"], TEST))["seed"].to_pylist())
    if counts.keys() != {run.seed for run in runs} or len(set(counts.values())) > 1:
        raise unreadable(directory / PREDICTIONS, f"it has {dict(counts)} test pairs by seed, which {ABOUT} does not")
    return Cell(Place(about["place"]), from_json(about) or runs, table, about["data"])
