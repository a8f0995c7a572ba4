"""How many dimensions should the lexical channel have, and which weight? `python -m benchmarks.lexical_channel FROM`.

Takes the released encoder with each of WEIGHTS and each of DIMENSIONS of its channel, and scores it on the sets of
`release.gate`, without a test split. `lexical-channel.csv` in `--output` has the figures, with those of the encoder
without the channel, and `lexical-channel-differences.csv` how each differs from that one by kind of task.
"""

import argparse
import datetime
import logging
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.equal_bytes import differences, scored
from sentence_distillery.benchmarks.assembly import collected
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.results import write_results
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.release.gate import KINDS, read
from sentence_distillery.runtime.machine import cores
from stages.release.release import SETS, WORK

WEIGHTS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.4)  # with the dimension of the released channel
DIMENSIONS = (256, 512, 1024, 2048)  # with the weight of "released-search"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare dimensions and weights of the lexical channel.")
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of the sets of every kind")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/levers"))
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    try:
        data = collected(SETS, options.source, WORK)
        tasks = [read(data, *each) for sets in KINDS.values() for each in sets]
        released = StaticEncoder.load("released")
        found = {shape(encoder): encoder for encoder in encoders()}
        named = {"none: released": released} | found
        rows = [row for name, encoder in named.items() for row in scored(name, encoder, tasks)]
        changes = [row for name, encoder in found.items() for row in differences(name, released, encoder, data)]
    except InputError as error:
        sys.exit(f"lexical_channel: {error}")
    comment = (
        f"python -m benchmarks.lexical_channel FROM; {datetime.date.today()}; {cores()} cores, {platform.machine()}"
    )
    write_results(options.output / "lexical-channel.csv", rows, comment)
    write_results(options.output / "lexical-channel-differences.csv", changes, comment)


def encoders() -> Iterator[StaticEncoder]:
    """Yield the released encoder with each weight, then with each dimension of its channel."""
    yield from (StaticEncoder.load("released", lexical_weight=weight) for weight in WEIGHTS)
    yield from (StaticEncoder.load("released-search", lexical_dimension=dimension) for dimension in DIMENSIONS)


def shape(encoder: StaticEncoder) -> str:
    """Name a channel by its dimensions and its weight."""
    assert encoder.lexical is not None
    return f"{encoder.lexical.dimension:,} dimensions, weight {encoder.lexical_weight:g}"


if __name__ == "__main__":
    main()
