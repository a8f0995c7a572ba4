"""The one table of figures: one row for each figure, the same columns for every experiment, typed when it is read.

A cell of a paper's grid says in columns which cell it is, so that nothing has to be cut out of a name:

    system,encoder,strategy,weight,seeds,dataset,metric,value,...,reason
    "minilm-l3, W_cf = 0.2",minilm-l3,component focus,0.2,5,stsb,pearson,0.8413,...,
    "mpnet, W_cf = 0.2",mpnet,component focus,0.2,1,stsb,pearson,,...,weights not available here

results.csv has fewer columns, those that its readers outside this project know (EXPORTED). There the reason stands in
place of the value, as `undefined: <reason>`.
"""

import csv
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.io.artifacts import InputError, atomic_file, finite, read_rows
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable, from_text, to_text

MODEL_SOUP = "model soup"  # in place of a seed: the mean of the weights of all seeds


@dataclass(frozen=True)
class Result:
    """A figure: correlations and rates as fractions, MAE in units of a 0-5 scale, speed in sentences a second.

    Raises:
        ValueError: If a number is NaN or infinite: what has no meaning is `Unavailable`, with the reason.
    """

    system: str  # the name that tables show
    dataset: str  # the benchmark set
    split: str  # of the set; empty if it has none
    protocol: str  # how vectors were made and compared, such as a weighting
    metric: str  # such as "spearman"
    value: Figure  # the figure, or why there is none
    n: int  # the number of pairs or sentences behind it
    paper: str = ""  # the paper that has such a figure, "1" to "3", if one has
    table: str = ""  # its table there
    published: float | None = None  # the paper's own figure for the same system and protocol
    seeds: int = 1  # the number of trainings behind the value
    spread: float | None = None  # their standard deviation, if there are several
    encoder: str = ""  # the encoder that a cell of a grid trains, by its name in params.yaml
    pooling: str = ""  # how the cell pools its tokens
    strategy: str = ""  # how the cell is trained; "cosine" and "untrained" train nothing
    start: str = ""  # what the training starts from, if not from the published encoder
    weight: float | str | None = None  # W_cf of paper 3, or how it is learnt
    seed: int | str | None = None  # the one seed of the training, or MODEL_SOUP; None if the value is a mean over seeds
    low: float | None = None  # the lower end of the value's 95% interval, if it has one
    high: float | None = None  # the upper end
    # draws of the bootstrap that have no figure, such as a correlation of equal ratings, and so are not in the
    # interval; None if nothing was drawn
    left_out: int | None = None

    def __post_init__(self) -> None:
        for name in ("value", "published", "spread", "low", "high"):
            number = getattr(self, name)
            if isinstance(number, float) and not math.isfinite(number):
                raise ValueError(f"{self.system} on {self.dataset}: {self.metric} has the {name} {number}")

    @property
    def number(self) -> float | None:
        """The value, or None if there is none."""
        return None if isinstance(self.value, Unavailable) else self.value


@dataclass(frozen=True)
class Measure:
    """A figure of an encoder, which may be computed again for draws of the texts, pairs or queries behind it."""

    protocol: str  # this and the next three as of `Result`
    metric: str
    value: Figure
    n: int
    # returns the figure of each draw of the bootstrap, (draws,), NaN for one without; None if it has no draws
    draw: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def drawn(self) -> Floats | None:
        """The figure of each draw, (draws,); None without draws, or if there is no figure."""
        return None if self.draw is None or isinstance(self.value, Unavailable) else self.draw()

    @property
    def interval(self) -> bootstrap.Interval | None:
        """The middle 95 % of the draws, if it has any."""
        return None if self.drawn is None else bootstrap.interval(self.drawn)


def as_result(system: str, dataset: str, split: str, measure: Measure, *, with_interval: bool = True) -> Result:
    """Return a measure as a row of the table of figures."""
    row = Result(system, dataset, split, measure.protocol, measure.metric, measure.value, measure.n)
    interval = measure.interval if with_interval else None
    return replace(row, **interval._asdict()) if interval else row


REASON = "reason"
EXPORTED = ["paper", "table", "system", "dataset", "split", "protocol", "metric", "value", "published", "n", "seeds"]
EXPORTED += ["spread"]
COLUMNS = ["system", "encoder", "pooling", "strategy", "start", "weight", "seed", "dataset", "split", "protocol"]
COLUMNS += ["metric", "value", "low", "high", "left_out", "n", "seeds", "spread", "paper", "table", "published", REASON]
FORMER = [column for column in COLUMNS if column != "left_out"]  # of tables that earlier versions wrote
assert set(COLUMNS) == {field.name for field in fields(Result)} | {REASON}


def write_results(path: Path, results: Iterable[Result], comment: str = "") -> None:
    """Write a table of figures, fractions with four digits, the ends of intervals with six."""
    _write(path, COLUMNS, map(_as_row, results), comment)


def is_speed(row: Result) -> bool:
    """Tell whether a figure is a speed, which depends on the machine and differs from run to run."""
    return (row.dataset, row.protocol, row.metric) == ("corpus", "encode", "sentences_per_second")


def count(result: Result, counters: Counters) -> None:
    """Count a figure as kept, or as dropped by the reason why there is none."""
    if isinstance(result.value, Unavailable):
        counters.drop(to_text(result.value))
    else:
        counters.keep()


def export_results(path: Path, results: Iterable[Result], comment: str = "") -> None:
    """Write the columns that readers outside this project know; arguments as of `write_results`."""
    rows = map(_as_row, results)
    _write(
        path, EXPORTED, ({**row, "value": row["value"] or to_text(Unavailable(row[REASON]))} for row in rows), comment
    )


def _write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]], comment: str) -> None:
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        # Kept tables begin with the command that made them.
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _as_row(result: Result) -> dict[str, str]:
    """Return a figure as text; `value` is empty if there is none."""
    row = {field.name: text_of(getattr(result, field.name)) for field in fields(result)}
    row |= {end: f"{bound:.6f}" for end in ("low", "high") if (bound := getattr(result, end)) is not None}

    # A weight may be a number or the way in which it is learnt.
    weight = f"{result.weight:g}" if isinstance(result.weight, float) else row["weight"]
    reason = result.value.reason if isinstance(result.value, Unavailable) else ""
    return {**row, "weight": weight, REASON: reason}


def text_of(value: object) -> str:
    """Return a value as the table has it.

    Example:
        >>> text_of(0.76543), text_of(23_456.7), text_of(None)
        ('0.7654', '23457', '')
    """
    if value is None or isinstance(value, Unavailable):
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def read_results(path: Path, may_be_empty: bool = False) -> list[Result]:
    """Read a table of figures, a CSV file with the columns COLUMNS, EXPORTED or FORMER, in any order.

    Raises InputError if it cannot be read, has other columns, has no rows and `may_be_empty` is not set, or a row does
    not fit.
    """
    rows = read_rows(path, {}, (EXPORTED, COLUMNS, FORMER))
    if not (rows or may_be_empty):
        raise InputError(f"{path} has no rows, so there is no figure to show; make it again.")
    return [_result(row, f"{path}, row {place}") for place, row in enumerate(rows, start=1)]


def _result(row: Mapping[str, str], place: str) -> Result:
    """Read one row; raises InputError, which names `place`."""
    values: dict[str, Any] = dict(row)
    reason = values.pop(REASON, "")
    try:
        # A reason stands in a column of its own, or in former tables in place of the value.
        values["value"] = Unavailable(reason) if reason else from_text(values["value"]) or values["value"]
        if not values["value"]:
            raise ValueError("it has neither a value nor a reason why there is none")
        for name, read in READERS.items():
            if isinstance(values.get(name), str):
                values[name] = read(values[name]) if values[name] or name in NEEDED else None
        return Result(**values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: {error}. Make the table again, or restore it from git.") from error


def _number_or_name(read: type[int] | type[float], text: str) -> int | float | str:
    try:
        return read(text)
    except ValueError:
        return text


READERS: dict[str, Callable[[str], Any]] = dict.fromkeys(("value", "published", "spread", "low", "high"), finite)
READERS |= dict.fromkeys(("n", "seeds", "left_out"), int)
NEEDED = ("n", "seeds")
READERS |= {"weight": partial(_number_or_name, float), "seed": partial(_number_or_name, int)}


def over_seeds(own: Iterable[Result], others: Sequence[Iterable[Result]]) -> list[Result]:
    """Return the mean of every figure that the run and all other seeds have with the same n, and its spread.

    The spread is the standard deviation of the sample, sqrt(sum (x - mean)^2 / (n - 1)).
    """
    values: dict[tuple[str, str, str, str, str, int], list[float]] = defaultdict(list)
    for result in (*(result for results in others for result in results), *own):
        if result.number is not None:
            key = (result.system, result.dataset, result.split, result.protocol, result.metric, result.n)
            values[key].append(result.number)

    # A figure that one seed lacks has no spread that could be compared.
    return [
        Result(*key[:5], value=statistics.mean(figures), n=key[5], seeds=len(figures), spread=statistics.stdev(figures))
        for key, figures in values.items()
        if others and len(figures) == len(others) + 1
    ]
