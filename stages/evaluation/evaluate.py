"""The stage `evaluate`: score the student, its teacher and the references on every benchmark set that is present.

Reads the corpus, the benchmark sets and models/student. Writes reports/results.csv, one row for each figure;
reports/metrics.json for `dvc metrics`; reports/draws.json, from which a retraining tells a gain from noise; and
reports/systems.json, what each system is. Speeds differ from run to run: they are in reports/costs/speeds.csv, which is
not an output.
"""

from sentence_distillery.domain.systems import ABOUT, STUDENT, load_student, systems
from sentence_distillery.evaluation.results import export_results, is_speed
from sentence_distillery.evaluation.scoring import Sets, draws, headline, score_all
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import write_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("evaluate", unit="figures", largest="evaluate.documents and evaluate.references") as (params, counters):
        options, benchmarks = params.evaluate, BenchmarkData(paths.BENCHMARKS)
        compared = systems(paths.STUDENT, params.teacher, options, params.soft_labels.batch_tokens)
        sets = Sets.read(paths.SENTENCES, options.speed_sentences, benchmarks, counters)
        results = list(score_all(compared, sets, options.seed, options.speed_seconds, counters))

        figures = [result for result in results if not is_speed(result)]
        export_results(paths.RESULTS, figures)
        export_results(paths.SPEEDS, filter(is_speed, results))
        write_json(paths.METRICS, headline(figures))
        write_json(paths.DRAWS, draws(STUDENT, load_student(paths.STUDENT), benchmarks))
        write_json(paths.SYSTEMS, ABOUT)


if __name__ == "__main__":
    main()
