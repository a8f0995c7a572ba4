"""Fine-tune cross-encoders (paper 2, section 3.3): both sentences of a pair are one sequence of the encoder.

A logistic head reads the pooled vector of the sequence. This is the most accurate approach and the most expensive one:
each pair is a run of the encoder. The tuned encoder is the start of the combined approach (section 4.2.5), which
continues with a bi-encoder. The recipes:

    combined       as in the paper, section `metric_learning`
    modern         section `modern_learning`
    intermediate   the same, after an intermediate task (sentence_distillery/pairs/intermediate.py)

Of several seeds and their model soup, the one with the best validation accuracy is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.pairs.cells import (
    PairRuns,
    Plan,
    RunResult,
    Trained,
    as_it_stands,
    encode,
    over_seeds,
    tokenize,
    train,
)
from sentence_distillery.pairs.data import PairData
from sentence_distillery.pairs.heads import LogisticHead
from sentence_distillery.pairs.intermediate import IntermediateTask
from sentence_distillery.pairs.options import Combination
from sentence_distillery.pairs.starts import Start
from sentence_distillery.pairs.training import Notes, PairModel


def why_unavailable(start: Start, task: IntermediateTask | None) -> Unavailable | None:
    """Say why nothing can be tuned: no start, or no set of the intermediate task; None if tuning is possible."""
    return start.why_unavailable() or (task.why_unavailable() if task is not None else None)


def tune_cross_encoder(
    start: Start, plan: Plan, seeds: Sequence[int], data: PairData, task: IntermediateTask | None, counters: Counters
) -> PairRuns:
    """Fine-tune a cross-encoder with each seed, and make their model soup.

    Args:
        start: the encoder.
        plan: the settings, with strategy "pair".
        seeds: at least one.
        data: the pairs.
        task: the intermediate task, if any.
        counters: gets the pairs of the task that are left out.

    Raises:
        InputError: the start or the task does not fit, or a loss is not finite.
    """

    def judge(model: PairModel) -> RunResult:
        pairs = tokenize(model.encoder, data, crossed=True, both_orders=plan.learning.both_orders)
        return as_it_stands(model, pairs, plan)

    return over_seeds(_trainings(start, plan, seeds, data, task, counters), judge)


def _trainings(
    start: Start, plan: Plan, seeds: Sequence[int], data: PairData, task: IntermediateTask | None, counters: Counters
) -> Iterator[Trained]:
    """Yield each seed's model and its result."""
    for seed in seeds:
        encoder = start.encoder()
        pairs = tokenize(encoder, data, crossed=True, both_orders=plan.learning.both_orders)
        model = PairModel(encoder, LogisticHead(encoder.dimension, Combination.FIRST, seed))
        notes: Notes = []
        if task is not None:
            examples = task.examples(data, model, counters)
            notes = task.learn(model, examples, plan.learning, seed, plan.checkpoint(seed, "scores"))
        frozen = encode(encoder, pairs, ["train"]) if plan.learning.head_epochs else None
        result = train(model, pairs, plan, seed, frozen)
        seconds = result.seconds + sum(note["seconds"] for note in notes)
        yield model, replace(result, seconds=round(seconds, 1))
