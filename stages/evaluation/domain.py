"""The stage `domain`: how far does the student agree with its teacher on texts that nothing was trained on?

Reads the held-out texts of data/corpus/sentences, their soft labels, the sets of the user's own labels, and the
student. Compares it with the encoders of `domain.peers`. Writes reports/domain.csv, one row for each
figure, and reports/held_out, the student's figures on a fixed pool, which a retraining compares.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.held_out import reference_of
from sentence_distillery.domain.measures import DATASET, measured
from sentence_distillery.domain.peers import PEERS, Comparison
from sentence_distillery.domain.pool import write_pool_figures
from sentence_distillery.domain.systems import STUDENT
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, main_result
from sentence_distillery.evaluation.results import Result, as_result, count, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.tasks import own_tasks
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.progress import track
from stages import paths
from stages.params import Params
from stages.stage import stage

Load = Callable[[], Encoder | Unavailable]

CORPUS = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)


def peers(params: Params) -> Iterator[tuple[str, Load]]:
    """Yield the name of each peer, and a function that makes it."""
    dimension = StaticEncoder.load(paths.STUDENT).full_dimension
    comparison = Comparison(paths.RELEASED, params.teacher, dimension, CORPUS, params.domain.seed)
    for peer in params.domain.peers:
        yield peer, partial(PEERS[peer], comparison)


def main() -> None:
    with stage("domain", unit="figures") as (params, counters):
        reference = reference_of(CORPUS, params.held_out.share, params.domain)
        tasks = own_tasks(BenchmarkData(paths.BENCHMARKS))
        student: tuple[str, Load] = STUDENT, partial(StaticEncoder.load, paths.STUDENT)
        every = [student, *peers(params)]  # one at a time is in memory
        results: list[Result] = []
        fixed = Path(params.held_out.pool) != paths.NO_POOL
        for name, load in track(every, len(every), "encoders"):
            encoder = load()
            measures = list(measured(encoder, reference))
            if name == STUDENT:
                texts = reference.texts if fixed and not isinstance(reference, Unavailable) else []
                write_pool_figures(paths.POOL_FIGURES, name, measures, texts, CORPUS.teacher)
            results += [as_result(name, DATASET, "", measure) for measure in measures]
            results += [main_result(name, encoder, task) for task in tasks]
        for result in results:
            count(result, counters)
        write_results(paths.DOMAIN, results)


if __name__ == "__main__":
    main()
