"""Stage `evaluate`: every system under every weighting on every benchmark that is present, and its speed."""

from sentence_distillery.benchmarks.metrics import Undefined
from sentence_distillery.evaluation.data import Material
from sentence_distillery.evaluation.loading import Absent, loaders
from sentence_distillery.evaluation.results import EXAMPLES, METRICS, RESULTS, Result, write_results
from sentence_distillery.evaluation.scoring import PAPER_NAMES, absent_results, headline, score
from sentence_distillery.evaluation.weighted import WEIGHTING
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.papers.paper1.examples import Examples
from sentence_distillery.runtime.progress import track
from stages.stage import stage


def main() -> None:
    with stage("evaluate", unit="figures") as (params, counters):
        material = Material.read(params.evaluate.seed, counters)
        systems = loaders(params, material.vocabulary)
        results: list[Result] = []
        examples = Examples()
        with atomic_directory(WEIGHTING) as weighting:
            for load in track(systems, len(systems), "systems"):
                system = load()
                if isinstance(system, Absent):
                    results += absent_results(system, material, PAPER_NAMES)
                else:
                    results += score(system, material, params.evaluate, PAPER_NAMES, weighting)
                    examples.add(system)
                del system  # before the next one is loaded
        for result in results:
            if isinstance(result.value, Undefined):
                counters.drop(str(result.value))
            else:
                counters.keep()
        write_results(RESULTS, results)
        write_json(METRICS, headline(results))
        write_json(EXAMPLES, examples.content())


if __name__ == "__main__":
    main()
