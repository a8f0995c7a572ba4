"""Stage: SimCSE, an encoder tuned by contrast (Gao, Yao and Chen 2021); one of the systems that paper 1 compares with."""

from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.pairs.simcse import CONFIG, SIMCSE, train_into
from stages.stage import stage


def main() -> None:
    with stage("simcse", unit="examples") as (params, counters):
        config: dict[str, object] = {"objective": params.simcse.objective, "base": params.simcse.reference}
        with atomic_directory(SIMCSE) as directory:
            reason = train_into(directory, params.simcse, counters, config)
            write_json(directory / CONFIG, {"absent": reason} | config)


if __name__ == "__main__":
    main()
