"""The stage `component_focus@{encoder}-{task}-{weight}`: train one cell of paper 3's grid with each seed.

Reads data/benchmarks, data/trees and data/augmented_pairs. Trains an encoder whose vector is that of the sentence plus
W_cf times that of its component, and predicts the test split. Writes data/component_focus/<cell>: predictions.parquet,
and cell.json, which has null or the reason why the cell is not available.
"""

import argparse
import logging
from dataclasses import asdict

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.component_focus.cells import CELL, PREDICTIONS, SCHEMA, CellKey, Inputs
from sentence_distillery.component_focus.training import Notes, Training, train, why_unavailable
from sentence_distillery.component_focus.weights import weight_of
from sentence_distillery.encoders.transformer import NO_WEIGHTS, AbsentModelError
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from sentence_distillery.io.unavailable import to_json
from sentence_distillery.syntax.trees import read_trees
from stages import paths
from stages.stage import stage

log = logging.getLogger("stages")


def arguments() -> CellKey:
    """Read the cell from the command line."""
    parser = argparse.ArgumentParser(description="Train one cell of paper 3's grid.")
    parser.add_argument("encoder", help="name in section `encoders`")
    parser.add_argument("task", help="set of rated pairs with train, dev and test; +labels or +augmented may follow")
    parser.add_argument("weight", type=weight_of, help="weight of the component, or how it is learnt: one, roles, gate")
    options = parser.parse_args()
    return CellKey(options.encoder, options.task, options.weight)


def main() -> None:
    key = arguments()
    with (
        stage(f"component_focus@{key}", unit="pairs") as (params, counters),
        atomic_directory(paths.COMPONENT_FOCUS / str(key)) as target,
    ):
        inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
        unavailable, table = why_unavailable(key, params.component_training, inputs), SCHEMA.empty_table()
        notes: Notes = {}
        if unavailable is None:
            training = Training(params.encoders[key.encoder], params.component_training, paths.COMPONENT_CHECKPOINTS)
            try:
                table, notes = train(key, training, inputs, read_trees(paths.TREES), counters)
            except AbsentModelError as error:
                log.warning("%s is left out: %s", key, error)
                unavailable = NO_WEIGHTS
        write_table(target / PREDICTIONS, table)
        counters.skip(unavailable)
        write_json(target / CELL, to_json(unavailable) | {"seeds": notes} | asdict(key))


if __name__ == "__main__":
    main()
