"""The stage `simcse`: fine-tune an encoder by contrastive learning (Gao, Yao and Chen 2021), a baseline of paper 1.

Reads data/corpus/sentences or SICK train, writes models/simcse; its simcse.json has the losses, and null or the reason
why this run has no such encoder.
"""

from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import Unavailable, to_json
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "simcse.safetensors"


def main() -> None:
    with (
        stage("simcse", unit="examples", largest="simcse.batch_size") as (params, counters),
        atomic_directory(paths.SIMCSE) as directory,
    ):
        about = directory / paths.SIMCSE_ABOUT.name
        config: dict[str, object] = {"objective": params.simcse.objective, "base": params.simcse.reference}
        unavailable = params.simcse.switched_off()
        if unavailable is None:
            from reproductions.paper2.pairs.simcse import Sources, summary, tuned  # takes three seconds

            sources = Sources(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS))
            trained = tuned(params.simcse, sources, CHECKPOINT, counters)
            if isinstance(trained, Unavailable):
                unavailable = trained
            else:
                encoder, losses = trained
                encoder.save(directory)
                write_json(about, to_json(None) | config | {"examples": counters.kept} | summary(losses))
        if unavailable is not None:
            counters.skip(unavailable)
            write_json(about, to_json(unavailable) | config)


if __name__ == "__main__":
    main()
