"""The stage `simcse`: fine-tune an encoder by contrastive learning (Gao, Yao and Chen 2021), a baseline of paper 1.

Reads data/corpus/sentences or SICK train, writes models/simcse; its simcse.json has the losses, and null or the reason
why this run has no such encoder.
"""

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import Unavailable, to_json
from sentence_distillery.pairs.simcse import CONFIG, Sources, summary, tuned
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "simcse.safetensors"


def main() -> None:
    with stage("simcse", unit="examples") as (params, counters), atomic_directory(paths.SIMCSE) as directory:
        config: dict[str, object] = {"objective": params.simcse.objective, "base": params.simcse.reference}
        sources = Sources(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS))
        result = tuned(params.simcse, sources, CHECKPOINT, counters)
        if isinstance(result, Unavailable):
            counters.skip(result)
            write_json(directory / CONFIG, to_json(result) | config)
        else:
            encoder, losses = result
            encoder.save(directory)
            write_json(directory / CONFIG, to_json(None) | config | {"examples": counters.kept} | summary(losses))


if __name__ == "__main__":
    main()
