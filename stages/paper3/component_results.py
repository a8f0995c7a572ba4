"""The stage `component_results`: aggregate the cells of paper 3's grid, with confidence intervals of the gains.

Reads data/component_focus, data/benchmarks, data/trees and models/student. Writes reports/component_focus.csv, the
figures of each cell and the gain of W_cf > 0 over W_cf = 0, and reports/component_focus.json: trees and learnt weights.
"""

from typing import Any

from reproductions.grid.axes import places
from reproductions.grid.cell import Cell, read_cell
from reproductions.paper3.component_focus.cells import Inputs, analysed
from reproductions.paper3.results import (
    Frozen,
    at_inference,
    cell_figures,
    gains_over_none,
    learnt_weights,
    series_of,
    shown,
    with_components,
)
from reproductions.paper3.syntax.trees import read_trees
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.intervals import DRAWS
from sentence_distillery.evaluation.results import write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.teachers.functions import Embed, load_function
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("component_results", unit="cells") as (params, counters):
        focus, training = params.component_focus, params.component_training
        trees = read_trees(paths.TREES)
        components = analysed(trees, training.prepositional_objects)
        frozen = Frozen(Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS), components, focus)
        grid = places(encoder=focus.encoders, task=focus.tasks, weight=focus.weights)
        cells = [part for place in grid for part in read_cell(paths.COMPONENT_FOCUS / place.name).parts()]
        functions: dict[str, Embed] = {"student": StaticEncoder.load(paths.STUDENT).encode}
        functions |= {name: load_function(reference) for name, reference in focus.functions.items()}
        for name, embed in functions.items():
            cells += at_inference(name, embed, frozen, counters)
        learnt = learnt_weights(functions, frozen, paths.COMPONENT_FOCUS, counters)
        cells += [cell for cell, _ in learnt]
        series: dict[tuple[str, ...], list[Cell]] = {}
        for cell in (with_components(cell, training.prepositional_objects) for cell in cells):
            counters.drop(cell.unavailable.reason) if cell.unavailable else counters.keep()
            series.setdefault(series_of(cell), []).append(cell)
        groups = series.values()
        rows = [row for group in groups for cell in group for row in cell_figures(cell)]
        write_results(paths.COMPONENT_RESULTS, [*rows, *(gain for group in groups for gain in gains_over_none(group))])
        about: dict[str, Any] = {"trees": shown(trees)}
        about["learnt"] = [
            {name: cell.place[name] for name in ("encoder", "task")}
            | {"kind": said.kind, "step": said.step, "weights": said.weights}
            for cell, said in learnt
        ]
        about |= {"draws": DRAWS, "epochs": training.epochs if training.enabled else 0, "seeds": training.seeds}
        write_json(paths.COMPONENT_REPORT, about)


if __name__ == "__main__":
    main()
