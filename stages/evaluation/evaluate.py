"""The stage `evaluate`: score every system with every weighting on every benchmark set that is present.

Reads the corpus, the benchmark sets and the models. Writes reports/results.csv, one row for each figure, with paper 1's
figure if it has one; reports/metrics.json for `dvc metrics`; reports/examples.json, the cosines of paper 1's example
pairs; reports/systems.json, what each system is; and models/weighting, the token weights of each weighting.
"""

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.evaluation.data import EvaluationData
from sentence_distillery.evaluation.registration import Run, SystemOptions
from sentence_distillery.evaluation.registry import SYSTEMS, loaders
from sentence_distillery.evaluation.results import Result, export_results
from sentence_distillery.evaluation.scoring import headline, score, unavailable_results
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import Unavailable, to_text
from sentence_distillery.papers.paper1.examples import Examples
from sentence_distillery.papers.paper1.published import with_published
from sentence_distillery.runtime.progress import track
from stages import paths
from stages.params import Params
from stages.stage import stage


def options(params: Params) -> SystemOptions:
    """Return the sections that loading the systems depends on."""
    return SystemOptions(
        skipgram=params.skipgram,
        fasttext=params.fasttext,
        simcse=params.simcse,
        batch_tokens=params.soft_labels.batch_tokens,
        teacher=params.teacher,
        evaluate=params.evaluate,
    )


def main() -> None:
    with stage("evaluate", unit="figures") as (params, counters):
        benchmarks = BenchmarkData(paths.BENCHMARKS)
        data = EvaluationData.read(paths.SENTENCES, benchmarks, params.evaluate.seed, counters)
        systems = loaders(Run(paths.MODELS, options(params), data.vocabulary))
        results: list[Result] = []
        examples = Examples()
        with atomic_directory(paths.WEIGHTING) as weighting:
            for name, load in track(systems, len(systems), "systems"):
                system = load()
                if isinstance(system, Unavailable):
                    results += unavailable_results(name, system, data, with_published)
                else:
                    results += score(system, data, params.evaluate, weighting, with_published)
                    examples.add(system)
                del system  # before the next one is loaded
        for result in results:
            if isinstance(result.value, Unavailable):
                counters.drop(to_text(result.value))
            else:
                counters.keep()
        export_results(paths.RESULTS, results)
        write_json(paths.METRICS, headline(results))
        write_json(paths.EXAMPLES, examples.content())
        write_json(paths.SYSTEMS, {system.name: system.about for system in SYSTEMS})


if __name__ == "__main__":
    main()
