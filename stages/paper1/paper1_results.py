"""The stage `paper1_results`: score the systems that paper 1 compares with: word vectors, its student, SimCSE.

Reads the corpus, the benchmark sets and the models. Writes reports/paper1.csv, one row for each figure, as
reports/results.csv has them; reports/paper1_metrics.json for `dvc metrics`; reports/paper1_gains.json, differences on
STS-B test with intervals; reports/examples.json, the cosines of the paper's example pairs, of the main job's systems
too; and models/paper1_weighting, the token weights of each weighting.
"""

from reproductions.paper1.examples import Examples
from reproductions.paper1.gains import Cosines
from reproductions.paper1.published import with_published
from reproductions.systems.data import EvaluationData
from reproductions.systems.registration import SystemInputs, SystemOptions
from reproductions.systems.registry import loaders
from reproductions.systems.scoring import score_all
from sentence_distillery.evaluation.results import export_results, is_speed
from sentence_distillery.evaluation.scoring import headline
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("paper1_results", unit="figures") as (params, counters):
        data = EvaluationData.read(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS), params.evaluate.seed, counters)
        options = SystemOptions(
            batch_tokens=params.soft_labels.batch_tokens,
            teacher=params.teacher,
            evaluate=params.evaluate,
            skipgram=params.skipgram,
            fasttext=params.fasttext,
            simcse=params.simcse,
        )
        run, examples, cosines = SystemInputs(paths.MODELS, options, data.vocabulary), Examples(), Cosines()
        systems = loaders(run, "paper1")
        with atomic_directory(paths.PAPER1_WEIGHTING) as weighting:
            found = score_all(systems, data, params.evaluate, weighting, counters, examples.add, cosines.see)
            results = [with_published(result) for result in found]
        for _, load in loaders(run):
            if not isinstance(system := load(), Unavailable):
                examples.add(system)
        figures = [result for result in results if not is_speed(result)]
        export_results(paths.PAPER1_RESULTS, figures)
        export_results(paths.PAPER1_SPEEDS, filter(is_speed, results))
        write_json(paths.PAPER1_METRICS, headline(figures))
        write_json(paths.EXAMPLES, examples.content())
        write_json(paths.PAPER1_GAINS, cosines.content())


if __name__ == "__main__":
    main()
