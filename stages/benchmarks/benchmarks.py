"""The stage `benchmarks`: check all benchmark sets and write them in one format.

Reads the files of data/external and data/samples, and the sets that come with gensim. Writes data/benchmarks: a table
for each set, provenance.json, and the fingerprints of all texts of dev and test splits. Section `benchmarks` of
params.yaml names the sets, and the files of the user's own labels; an external set without files is reported as absent.
"""

from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Sources
from sentence_distillery.evaluation.sets.own import own_benchmark
from stages import paths
from stages.stage import stage

SOURCES = Sources(
    external=paths.EXTERNAL,
    samples=paths.SAMPLES,
    external_remedy="run `make benchmarks FROM=<directory>` with a directory that has it",
    samples_remedy=f"restore it with `git checkout {paths.SAMPLES}`",
)


def main() -> None:
    with stage("benchmarks", unit="rows", largest="benchmarks.sets") as (params, counters):
        own = [own_benchmark(option) for option in params.benchmarks.own]
        write_benchmarks(params.benchmarks.sets, SOURCES, paths.BENCHMARKS, counters, own)


if __name__ == "__main__":
    main()
