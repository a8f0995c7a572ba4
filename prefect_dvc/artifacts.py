"""The artifacts of a run in Prefect: its metrics, its changed parameters, DVC's plots, and a link to its report."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from prefect import get_run_logger
from prefect.artifacts import create_link_artifact, create_table_artifact

from prefect_dvc.charts import Panel, publish_chart
from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.execution.run import Run
from prefect_dvc.server.reports import PLACE, send_report
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.settings.graph_files import PARAMS, graph_files, parameter_files
from prefect_dvc.settings.parameters import flat
from prefect_dvc.settings.yaml_reader import read_file, read_yaml
from prefect_dvc.workspace.git import text_at


def publish(run: Run) -> None:
    """Publish the run's artifacts: metrics and report if it made them, plots if a stage did something."""
    config = read_config(run.directory)
    if rows := [row for path in config.registry.metrics if _part_of(run, path) for row in changes(run, path)]:
        create_table_artifact(key="metrics", table=rows, description="Metrics and the last commit's")
    rows = [row for file in parameter_files(run.directory) for row in changes(run, file, named=file != PARAMS)]
    changed = [row for row in rows if row["before"] != row["now"]]
    create_table_artifact(key="parameters", table=changed, description="Parameters that differ from the last commit")
    news = any(outcome is not Outcome.CACHED for outcome in run.outcomes.values())
    for title, panels in plots(run.directory, partial(_part_of, run)).items() if news else ():
        key = "plot-" + "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title.lower())
        publish_chart(key, title, panels)
    report = run.directory / (config.report or "")
    if config.report and report.exists() and _part_of(run, config.report):
        link = send_report(run.name, report) or report.as_uri()
        text = f"The report of run {run.name}"  # in the description, too: the card shows that at once
        create_link_artifact(key="report", link=link, link_text=text, description=f"[{text}]({link})")
        # A link within a card opens the artifact; one in the log is one click from the run
        server = os.environ.get("PREFECT_API_URL", "").removesuffix("/api") if link.startswith(PLACE) else ""
        get_run_logger().info(f"{text}: {server}{link}")


def publish_stages(run: Run) -> None:
    """Publish a table of the run's stages, also of one that failed."""
    rows = [{"stage": stage.name, **_end_of(run, stage.name)} for stage in run.stages]
    create_table_artifact(key="stages", table=rows, description=f"The stages of run {run.name}")


def _end_of(run: Run, name: str) -> dict[str, Any]:
    """Return the state and the seconds of a stage; waiting for a slot or a worker is part of them."""
    if name not in run.seconds:
        return {"state": "Not run", "seconds": None}
    return {"state": str(run.outcomes.get(name, "Failed")), "seconds": round(run.seconds[name], 1)}


def _part_of(run: Run, path: str) -> bool:
    """Return whether a stage of the run makes the file; another file there comes from the commit."""
    return any(stage.makes(path) for stage in run.stages)


def changes(run: Run, path: str, *, named: bool = False) -> list[dict[str, Any]]:
    """List each leaf of a YAML or JSON file: its name, its value in the workspace's last commit, and the run's.

    With `named`, the name begins with the path.
    """
    now = _leaves((run.directory / path).read_text(encoding="utf-8")) if (run.directory / path).exists() else {}
    before = _leaves(text_at(run.root, "HEAD", path) or "")
    prefix = f"{path}:" if named else ""
    return [{"name": f"{prefix}{name}", "before": before.get(name), "now": now.get(name)} for name in {**before, **now}]


def _leaves(text: str) -> dict[str, Any]:
    try:
        content = read_yaml(text)
    except yaml.YAMLError:  # a file of parameters in TOML or Python
        return {}
    return flat(content) if isinstance(content, Mapping) else {}


def plots(directory: Path, wanted: Callable[[str], bool] = lambda path: True) -> dict[str, list[Panel]]:
    """Read the plots of each dvc.yaml that name columns of `wanted` tables (CSV, TSV) which are there, by title."""
    found: dict[str, list[Panel]] = {}
    for file in graph_files(directory):
        content = read_file(directory / file)
        entries = (content.get("plots") if isinstance(content, Mapping) else None) or []
        for entry in entries if isinstance(entries, list) else [entries]:
            for title, plot in entry.items() if isinstance(entry, Mapping) else ():
                if panels := list(_panels(directory, Path(file).parent, str(title), plot, wanted)):
                    found[str(title)] = panels
    return found


def _panels(directory: Path, folder: Path, title: str, plot: object, wanted: Callable[[str], bool]) -> Iterator[Panel]:
    """Yield the lines of a plot; `dvc plots` draws more kinds, such as JSON and pictures."""
    x, y = (plot.get("x"), plot.get("y")) if isinstance(plot, Mapping) else (None, None)
    for file, columns in y.items() if isinstance(y, Mapping) else [(title, y)]:
        across = x.get(file) if isinstance(x, Mapping) else x
        for name in columns if isinstance(columns, list) else [columns]:
            if not isinstance(across, str) or not isinstance(name, str) or not wanted(str(folder / str(file))):
                continue
            with suppress(OSError, KeyError, TypeError, ValueError):  # no table, or without these columns of numbers
                yield Panel(name, across, *_columns(directory / folder / str(file), across, name))


def _columns(path: Path, x: str, y: str) -> tuple[list[float], list[float]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))
    if not rows:
        raise ValueError(path)
    return [float(row[x]) for row in rows], [float(row[y]) for row in rows]
