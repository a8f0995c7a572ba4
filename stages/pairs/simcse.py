"""Stage `simcse`: tune an encoder by contrast (Gao, Yao and Chen 2021), one of the systems that paper 1 compares with.

Reads data/corpus/sentences or SICK train, writes models/simcse; simcse.json says why this run has none, or null, and
the losses.
"""

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.pairs.simcse import CONFIG, Sources, summary, tuned
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "simcse.safetensors"


def main() -> None:
    with stage("simcse", unit="examples") as (params, counters), atomic_directory(paths.SIMCSE) as directory:
        config: dict[str, object] = {"objective": params.simcse.objective, "base": params.simcse.reference}
        sources = Sources(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS))
        result = tuned(params.simcse, sources, CHECKPOINT, counters)
        if isinstance(result, str):
            write_json(directory / CONFIG, {"absent": result} | config)
        else:
            encoder, losses = result
            encoder.save(directory)
            write_json(directory / CONFIG, {"absent": None} | config | {"examples": counters.kept} | summary(losses))


if __name__ == "__main__":
    main()
