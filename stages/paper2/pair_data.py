"""The stage `pair_data`: prepare the splits that all cells of paper 2's matrix share.

Reads data/benchmarks or a user's directory, removes training pairs that are in a test split, draws the validation split
randomly, and writes data/pairs.
"""

from reproductions.paper2.pairs.preparation import prepare
from sentence_distillery.evaluation.sets.data import BenchmarkData
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("pair_data", unit="pairs") as (params, counters):
        prepared = prepare(params.pairs, BenchmarkData(paths.BENCHMARKS), counters)
        prepared.write(paths.PAIRS, removed=counters.dropped)


if __name__ == "__main__":
    main()
