"""The stage `all_systems`: score the student, its variants and the teacher under every weighting of tokens.

Reads the corpus, the benchmark sets and the models. Writes reports/all_systems.csv, one row for each figure, as
reports/results.csv has them for the main job; reports/variants.csv, how far the variants agree with the teacher on
held-out texts; and models/weighting, the token weights of each weighting.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reproductions.systems.data import EvaluationData
from reproductions.systems.registration import FINE_TUNED, WITH_HEAD, SystemInputs, SystemOptions, load_variant
from reproductions.systems.registry import loaders
from reproductions.systems.scoring import score_all
from sentence_distillery.domain.held_out import reference_of
from sentence_distillery.domain.measures import scored
from sentence_distillery.domain.systems import STUDENT
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder
from sentence_distillery.evaluation.results import export_results, is_speed, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.evaluation.domain import CORPUS
from stages.stage import stage

VARIANTS = {WITH_HEAD: paths.MLP_HEAD, FINE_TUNED: paths.FINE_TUNED_STUDENT}


def variant(name: str, directory: Path) -> Encoder | Unavailable:
    """Load a variant of the student, or say why there is none."""
    loaded = load_variant(name, directory)
    return loaded if isinstance(loaded, Unavailable) else loaded.encoder


def students() -> Iterator[tuple[str, Callable[[], Encoder | Unavailable]]]:
    """Yield the name of each student of the current directory, and a function that loads it."""
    yield STUDENT, partial(StaticEncoder.load, paths.STUDENT)
    for name, directory in VARIANTS.items():
        yield name, partial(variant, name, directory)


def main() -> None:
    with stage("all_systems", unit="figures") as (params, counters):
        data = EvaluationData.read(paths.SENTENCES, BenchmarkData(paths.BENCHMARKS), params.evaluate.seed, counters)
        options = SystemOptions(params.soft_labels.batch_tokens, params.teacher, params.evaluate)
        systems = loaders(SystemInputs(paths.MODELS, options, data.vocabulary))
        with atomic_directory(paths.WEIGHTING) as weighting:
            results = list(score_all(systems, data, params.evaluate, weighting, counters))
        export_results(paths.ALL_SYSTEMS, (result for result in results if not is_speed(result)))
        export_results(paths.ALL_SPEEDS, filter(is_speed, results))

        reference = reference_of(CORPUS, params.held_out.share, params.domain)
        loaded = ((name, variant(name, directory)) for name, directory in VARIANTS.items())
        write_results(paths.VARIANTS, (row for name, encoder in loaded for row in scored(name, encoder, reference)))


if __name__ == "__main__":
    main()
