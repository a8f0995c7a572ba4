"""The tables of reproductions/docs/paper_1.md, from reports/runs/paper1."""

from collections.abc import Callable

from reproductions.docs.tables.cells import figure, grid, points, slashed, with_spread
from reproductions.docs.tables.rows import only, source
from reproductions.paper1.ablation import BOTH_CONTRASTIVE, CONTRASTIVE
from reproductions.paper1.claims import BOTH, DISTILLED, KLD, NEITHER
from reproductions.paper1.published import PAPER_1, PAPER_1_SENTIMENT, our_name

ABLATION, CHAIN = "paper1/ablation", "paper1/china-daily"
WEIGHTINGS = {"mean": "mean", "tf-idf": "TF-IDF", "dpcs": "DPCS"}
COMPARED = ("Word2Vec", "GloVe", "FastText", "MyModel")  # the systems of the paper that the chain makes


def ablation() -> list[str]:
    """Means and spreads over five seeds of each part of the method."""
    rows = [
        [system, *(_spreads(system, weighting) for weighting in WEIGHTINGS)]
        for system in (NEITHER, KLD, DISTILLED, BOTH, CONTRASTIVE, BOTH_CONTRASTIVE)
    ]
    return [*grid(["word vectors with", *WEIGHTINGS.values()], rows), "", source(ABLATION)]


def _spreads(system: str, weighting: str) -> str:
    cells = (
        only(ABLATION, system=system, protocol=weighting, metric=metric, seeds=5) for metric in ("pearson", "spearman")
    )
    return " / ".join(map(with_spread, cells))


def chain() -> list[str]:
    """The chain as printed beside the paper's own figures."""
    columns = [*(f"{title}: ours" for title in WEIGHTINGS.values()), "IMDB F1: ours"]
    head = ["system", *(title for column in columns for title in (column, "the paper's"))]
    return [*grid(head, map(_system, COMPARED)), "", source(CHAIN)]


def _system(system: str) -> list[str]:
    pairs = ((_similarity(system, weighting), _printed(system, weighting)) for weighting in WEIGHTINGS)
    f1 = only(CHAIN, system=our_name(system), dataset="imdb", protocol="sgd", metric="f1", split="test")
    sentiment = (figure(points(f1)), figure(100 * PAPER_1_SENTIMENT[system].f1, digits=0))
    return [system, *(cell for pair in (*pairs, sentiment) for cell in pair)]


def _similarity(system: str, weighting: str) -> str:
    pearson, spearman, mae = (
        only(CHAIN, system=our_name(system), dataset="stsb", split="test", protocol=weighting, metric=metric)
        for metric in ("pearson", "spearman", "mae")
    )
    return f"{slashed(points(pearson), points(spearman))} / {figure(points(mae) / 100, digits=2)}"


def _printed(system: str, weighting: str) -> str:
    printed = PAPER_1[system, weighting]
    return f"{slashed(100 * printed.pearson, 100 * printed.spearman)} / {figure(printed.mae, digits=2)}"


TABLES: dict[str, Callable[[], list[str]]] = {"ablation": ablation, "chain": chain}
