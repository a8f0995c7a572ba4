"""Stage `component_focus`: a Siamese encoder that sees the subject, predicate and object of a sentence twice (paper 3)."""

import argparse
import logging

from sentence_distillery.component_focus.cells import CELL, CELLS, PREDICTIONS, SCHEMA
from sentence_distillery.component_focus.training import Notes, train, why_absent
from sentence_distillery.component_focus.weights import weight_of
from sentence_distillery.encoders.transformer import AbsentModelError
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    parser = argparse.ArgumentParser(description="One cell of paper 3's grid.")
    parser.add_argument("encoder", help="name in section `encoders`")
    parser.add_argument("task", help="a benchmark set of scored pairs with train, dev and test, or one +labels")
    parser.add_argument(
        "weight", type=weight_of, help="W_cf, of the component beside the sentence; or one, roles, gate"
    )
    options = parser.parse_args()
    name = f"{options.encoder}-{options.task}-{options.weight}"
    with stage(f"component_focus@{name}", unit="pairs") as (params, counters), atomic_directory(CELLS / name) as target:
        reason, table = why_absent(options.task), SCHEMA.empty_table()
        notes: Notes = {}
        if not reason:
            try:
                table, notes = train(name, options, params, counters)
            except AbsentModelError as error:
                log.warning("%s is left out: %s", name, error)
                reason = "weights not available here"
        write_table(target / PREDICTIONS, table)
        write_json(target / CELL, {"absent": reason or None, "seeds": notes} | vars(options))


if __name__ == "__main__":
    main()
