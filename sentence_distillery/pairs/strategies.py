"""Train bi-encoders by the strategies of paper 2's matrix: each sentence is encoded alone.

    cosine      the unchanged start                                   table 1, table 7 "Baseline"
    siamese     pairwise margin loss                                 table 2, table 7 "Siam"
    triplet     triplet loss                                         table 3, table 7 "Triplet"
    logistic    logistic regression on combined vectors              table 5, table 7 "LR"
    cosent      CoSENT, section `modern_learning`                    not in the paper
    ranking     multiple negatives ranking, the same, paraphrases only

If the start is a cross-encoder (mean-combined), this is the combined approach of section 4.2.5. All seeds continue from
the same start, so their spread is that of the second step alone. Of several seeds and their model soup, the one with
the best validation accuracy is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sentence_distillery.pairs.cells import (
    PairRuns,
    Plan,
    RunResult,
    Trained,
    as_it_stands,
    over_seeds,
    run_result,
    tokenize,
    train,
)
from sentence_distillery.pairs.data import PairData
from sentence_distillery.pairs.heads import LogisticHead
from sentence_distillery.pairs.options import Combination, Learning, MetricLearning, ModernLearning
from sentence_distillery.pairs.starts import Start
from sentence_distillery.pairs.training import PairModel


def learning_of(strategy: str, metric: MetricLearning, modern: ModernLearning) -> Learning:
    """Return the settings of a strategy: the section that has its learning rate."""
    return modern if hasattr(modern, f"{strategy}_learning_rate") else metric


def train_bi_encoder(
    start: Start, plan: Plan, seeds: Sequence[int], data: PairData, combination: Combination
) -> PairRuns:
    """Train a bi-encoder by the plan's strategy with each seed, and make their model soup.

    Args:
        start: the encoder and its vectors.
        plan: the strategy and its settings.
        seeds: at least one; the cosine, which trains nothing, takes the first.
        data: the pairs.
        combination: the features of strategy "logistic".

    Raises:
        InputError: the start does not fit, there are too few pairs, or a loss is not finite.
    """

    def judge(model: PairModel) -> RunResult:
        return as_it_stands(model, tokenize(model.encoder, data, crossed=False), plan)

    return over_seeds(_trainings(start, plan, seeds, data, combination), judge)


def _trainings(
    start: Start, plan: Plan, seeds: Sequence[int], data: PairData, combination: Combination
) -> Iterator[Trained]:
    """Yield each seed's model and its result."""
    vectors = start.vectors(data)
    for seed in seeds[: 1 if plan.strategy == "cosine" else None]:
        encoder = start.encoder()
        head = LogisticHead(encoder.dimension, combination, seed) if plan.strategy == "logistic" else None
        model = PairModel(encoder, head)
        pairs = tokenize(encoder, data, crossed=False)
        if plan.strategy == "cosine":
            yield model, replace(run_result(model, pairs, vectors, start.unseen_splits(), plan.folds), seed=seed)
        else:
            yield model, train(model, pairs, plan, seed, vectors)


def compare_combinations(
    start: Start, plan: Plan, seeds: Sequence[int], data: PairData
) -> dict[Combination, list[RunResult]]:
    """Train logistic regression on each combination of the vectors (table 4), with each seed.

    Args:
        start: the encoder and its vectors.
        plan: the settings, with strategy "logistic".
        seeds: at least one.
        data: the pairs.

    Returns:
        The results of the seeds by combination.
    """
    compared: dict[Combination, list[RunResult]] = {}
    for place, combination in enumerate(Combination):
        own = replace(plan, step=f"table-4-{place}")
        compared[combination] = [result for _, result in _trainings(start, own, seeds, data, combination)]
    return compared
