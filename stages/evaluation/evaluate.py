"""The stage `evaluate`: score the students, their teacher and the references on every benchmark set that is present.

Reads the corpus, the benchmark sets and the models. Writes reports/results.csv, one row for each figure;
reports/metrics.json for `dvc metrics`; reports/draws.json, from which a retraining tells a gain from noise;
reports/systems.json, what each system is; and models/weighting, the token weights of each weighting. Speeds differ from
run to run: they are in reports/costs/speeds.csv, which is not an output.
"""

from reproductions.systems.data import EvaluationData
from reproductions.systems.registration import SystemInputs, SystemOptions
from reproductions.systems.registry import SYSTEMS, loaders
from reproductions.systems.scoring import headline, score_all
from reproductions.systems.similarity import draws
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.results import export_results, is_speed
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("evaluate", unit="figures", largest="evaluate.documents and evaluate.references") as (params, counters):
        data = EvaluationData.read(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS), params.evaluate.seed, counters)
        options = SystemOptions(params.soft_labels.batch_tokens, params.teacher, params.evaluate)
        systems = loaders(SystemInputs(paths.MODELS, options, data.vocabulary))
        with atomic_directory(paths.WEIGHTING) as weighting:
            results = list(score_all(systems, data, params.evaluate, weighting, counters))
        figures = [result for result in results if not is_speed(result)]
        export_results(paths.RESULTS, figures)
        export_results(paths.SPEEDS, filter(is_speed, results))
        write_json(paths.METRICS, headline(figures))
        student = StudentSystem(StaticEncoder.load(paths.STUDENT))
        write_json(paths.DRAWS, draws(student, BenchmarkData(paths.BENCHMARKS)))
        write_json(paths.SYSTEMS, {system.name: system.about for system in SYSTEMS if system.paper is None})


if __name__ == "__main__":
    main()
