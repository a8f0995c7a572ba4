"""Keep the figures of a run of paper 1's chain in git, and read them again.

<name>.csv      the run's table of figures, its command in the first line
<name>.json     examples, gains, curves, the settings of MyModel and of SimCSE
ablation.csv    means over seeds of the method without each of its parts
ablation.json   the gains of that, with intervals
"""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reproductions.paper1.gains import Gain, read_gains
from reproductions.paper1.section import PaperStudentRun, SavedRun
from reproductions.saved_matrix import comment_of
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.artifacts import read_json, unreadable, write_json

ABLATION = "ablation"
FIELDS = tuple(field.name for field in fields(PaperStudentRun) if field.name != "seconds")


def keep(
    directory: Path,
    name: str,
    comment: str,
    rows: Sequence[Result],
    run: PaperStudentRun,
    examples: dict[str, Any],
    gains: Sequence[Gain],
) -> None:
    """Write the figures of a run."""
    write_results(directory / f"{name}.csv", rows, comment)
    about = {each: getattr(run, each) for each in FIELDS}
    content = {"run": about, "examples": examples, "gains": [asdict(gain) for gain in gains]}
    write_json(directory / f"{name}.json", content)


def read_saved(directory: Path) -> list[SavedRun]:
    """Read every run that is saved, each with the ablation; none without the directory.

    Raises:
        InputError: If a file cannot be read.
    """
    gains, rows = read_ablation(directory)
    seconds = seconds_of(rows)
    names = sorted(path.stem for path in directory.glob("*.csv"))  # stems: a-b after a
    return [_read(directory / f"{name}.csv", seconds, gains) for name in names if name != ABLATION]


def read_ablation(directory: Path) -> tuple[list[Gain], list[Result]]:
    """Read the ablation's gains and figures; both are empty without the files."""
    ablation, table = directory / f"{ABLATION}.json", directory / f"{ABLATION}.csv"
    return read_gains(ablation) if ablation.exists() else [], read_results(table) if table.exists() else []


def seconds_of(rows: Sequence[Result]) -> dict[str, float]:
    """Return the cost of each weighting for MyModel."""
    return {row.protocol: row.number for row in rows if row.metric == "seconds" and row.number is not None}


def _read(path: Path, seconds: dict[str, float], ablation: list[Gain]) -> SavedRun:
    about = path.with_suffix(".json")
    content = read_json(about, dict[str, Any])
    try:
        run = PaperStudentRun(**content["run"], seconds=seconds)
        gains = TypeAdapter(list[Gain]).validate_python(content["gains"])
    except (KeyError, TypeError, ValidationError) as error:
        raise unreadable(about, f"it is not a kept run of paper 1: {error}") from error
    return SavedRun(path.stem, comment_of(path), read_results(path), run, content["examples"], gains, ablation)
