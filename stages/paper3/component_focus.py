"""The stage `component_focus@{encoder}-{task}-{weight}`: train one cell of paper 3's grid with each seed.

Reads data/benchmarks, data/trees and data/augmented_pairs. Trains an encoder whose vector is that of the sentence plus
W_cf times that of its component, and predicts the test split. Writes the cell (papers/grid/cell.py) to
data/component_focus/<cell>.
"""

import argparse
from dataclasses import replace
from functools import partial

from reproductions.grid.axes import Place
from reproductions.grid.cell import write_cell
from reproductions.grid.run import run
from reproductions.paper3.component_focus.cells import Inputs, analysed
from reproductions.paper3.component_focus.training import experiment
from reproductions.paper3.component_focus.weights import weight_of
from reproductions.paper3.syntax.trees import read_trees
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory
from stages import paths
from stages.stage import stage


def arguments() -> Place:
    """Read the cell from the command line."""
    parser = argparse.ArgumentParser(description="Train one cell of paper 3's grid.")
    parser.add_argument("encoder", help="a name of section `encoders`")
    parser.add_argument(
        "task", help="set of rated pairs with train, dev and test, with or without +labels or +augmented"
    )
    parser.add_argument(
        "weight", type=weight_of, help="weight of the component, or the way to learn it: one, roles, tags, gate"
    )
    return Place(vars(parser.parse_args()))


def main() -> None:
    place = arguments()
    with (
        stage(f"component_focus@{place.name}", unit="pairs") as (params, counters),
        atomic_directory(paths.COMPONENT_FOCUS / place.name) as target,
    ):
        inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
        teacher, options = params.encoders[place["encoder"]], params.component_training
        checkpoint = paths.COMPONENT_CHECKPOINTS / place.name
        task, weight = place["task"], place["weight"]
        trees = analysed(read_trees(paths.TREES), options.prepositional_objects)
        build = partial(experiment, teacher, task, weight, options, inputs, trees, checkpoint, counters)
        cell = run(place, build, options.seeds if options.enabled else []).cell
        how = {name: getattr(options, name) for name in ("order", "pooling", "prepositional_objects")}
        cell = replace(cell, place=Place(place | how))
        counters.skip(cell.unavailable)
        write_cell(target, cell)


if __name__ == "__main__":
    main()
