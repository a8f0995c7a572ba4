"""Score encoders with the component before any training, over paper 3's grid.

    python -m stages.paper3.untrained minilm-l3 --pooling mean --weights 0.0 0.2 --labelled 0.0 0.2

Reads data/benchmarks and data/trees. Every weight is scored in both orders of adding and pooling, and the figures are
saved in reports/runs/component_focus, where the page of paper 3 shows them. Functions of component_focus.functions have
the order after pooling alone.
"""

import argparse
import datetime
import logging
import shlex
import sys
from collections.abc import Iterator
from typing import get_args

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.grid.cell import Cell
from reproductions.paper3.component_focus.cells import Inputs, analysed
from reproductions.paper3.component_focus.options import PoolingOrder
from reproductions.paper3.results import Frozen, at_inference, cell_figures, gains_over_none, series_of, with_components
from reproductions.paper3.syntax.trees import read_trees
from reproductions.paper3.untrained import cells, encoded
from reproductions.saved_matrix import keep_cells
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.counters import Counters
from sentence_distillery.teachers.functions import load_function
from sentence_distillery.teachers.transformer import load_encoder
from stages import paths
from stages.params import Params
from stages.stage import stage

log = logging.getLogger("stages")


def arguments() -> argparse.Namespace:
    """Read the encoders and the grid from the command line."""
    parser = argparse.ArgumentParser(description="Score encoders with the component before any training.")
    parser.add_argument("encoders", nargs="+", help="names of section `encoders`, or of component_focus.functions")
    parser.add_argument("--pooling", type=Pooling, default=Pooling.MEAN, choices=list(Pooling))
    parser.add_argument(
        "--weights", type=float, nargs="+", required=True, help="weights of the component; 0.0 must be among them"
    )
    parser.add_argument("--labelled", type=float, nargs="*", default=[], help="weights with which SICK-E is scored")
    parser.add_argument(
        "--direct-objects", action="store_true", help="components without prepositional objects, as in table 3's parse"
    )
    return parser.parse_args()


def scored(name: str, given: argparse.Namespace, params: Params, counters: Counters) -> Iterator[Cell]:
    """Yield the cells of an encoder."""
    inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
    trees = analysed(read_trees(paths.TREES), not given.direct_objects)
    if name in params.component_focus.functions:
        focus = params.component_focus.model_copy(update={"weights": given.weights})
        embed = load_function(params.component_focus.functions[name])
        yield from at_inference(name, embed, Frozen(inputs, trees, focus), counters, given.labelled)
        return
    encoder = PairEncoder(load_encoder(params.encoders[name]), given.pooling)
    for task in params.component_focus.tasks:
        texts = encoded(name, task, encoder, inputs, trees, counters)
        yield from cells(texts, given.weights, get_args(PoolingOrder), given.labelled)


def main() -> None:
    given = arguments()
    command = shlex.join(["python", "-m", "stages.paper3.untrained", *sys.argv[1:]])
    with stage("component_focus_untrained", unit="sentences") as (params, counters):
        for name in given.encoders:
            series: dict[tuple[str, ...], list[Cell]] = {}
            for each in scored(name, given, params, counters):
                cell = with_components(each, not given.direct_objects)
                series.setdefault(series_of(cell), []).append(cell)
            rows = [row for group in series.values() for cell in group for row in cell_figures(cell)]
            rows += [gain for group in series.values() for gain in gains_over_none(group)]
            date = datetime.date.today().isoformat()
            target = keep_cells(rows, params.component_focus.tasks, paths.COMPONENT_RUNS, command, date)
            log.info("%s: %d figures in %s", name, len(rows), target)


if __name__ == "__main__":
    main()
