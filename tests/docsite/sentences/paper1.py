"""Sentences of docs/paper_1.md."""

import functools

from docsite.kept import only
from docsite.tables.paper1 import CHAIN
from sentence_distillery.evaluation.results import Result
from sentence_distillery.papers.paper1.ablation import BOTH_CONTRASTIVE, CONTRASTIVE
from sentence_distillery.papers.paper1.claims import BOTH, DISTILLED, KLD, NEITHER
from sentence_distillery.papers.paper1.gains import between, read_gains
from sentence_distillery.papers.paper1.published import PAPER_1
from tests.docsite.sentences.spoken import Sentence, hundred, spoken
from tests.workspace import ROOT

RUNS = ROOT / "reports/runs"


def chain(system: str) -> float:
    """Pearson of the chain as printed under the mean, in points."""
    return hundred(only(CHAIN, system=system, dataset="stsb", split="test", protocol="mean", metric="pearson"))


def contrastive_chain() -> list[str]:
    """MyModel's figures in the chain with the contrastive loss: three weightings of STS-B, then F1 on IMDB."""
    own = functools.partial(only, "paper1/china-daily-contrastive", system="paper student", split="test")
    said = []
    for protocol in ("mean", "tf-idf", "dpcs"):
        pearson, spearman, mae = (
            own(dataset="stsb", protocol=protocol, metric=metric) for metric in ("pearson", "spearman", "mae")
        )
        assert mae.number is not None
        said += [*spoken(hundred(pearson), hundred(spearman)), f"{mae.number:.2f}"]
    return [*said, *spoken(hundred(own(dataset="imdb", protocol="sgd", metric="f1")))]


def ablated(one: str, other: str, digits: int) -> list[str]:
    """The gain of a part of paper 1's method over another under the mean, in points, with its interval."""
    gain = between(read_gains(RUNS / "paper1/ablation.json"), (one, "mean"), (other, "mean"), "pearson")
    assert gain
    return spoken(*(100 * value for value in (gain.gain, gain.low, gain.high)), digits=digits)


def best(system: str, dataset: str, seeds: int, protocol: str = "mean") -> Result:
    where = {"dataset": dataset, "split": "test", "protocol": protocol, "metric": "spearman", "seeds": seeds}
    return only("best", system=system, **where)


def sentences() -> dict[str, Sentence]:
    stsb, sick = (best("skip-gram", each, 5) for each in ("stsb", "sick"))
    after, there = (best("refined", each, 5) for each in ("stsb", "sick"))
    assert after.spread is not None
    return {
        "ablation": (
            r"of Pearson \((\S+) \[(\S+), (\S+)\] under the mean.*?it gains nothing \((\S+) \[(\S+), (\S+)\]\)",
            ablated(KLD, NEITHER, 2) + ablated(BOTH, DISTILLED, 2),
        ),
        "chain": (
            r"it is (\S+) points of Pearson ahead of Word2Vec\s+under the mean, and in the paper (\S+)\.",
            spoken(chain("paper student") - chain("skip-gram"), digits=0)
            + spoken(100 * (PAPER_1["MyModel", "mean"].pearson - PAPER_1["Word2Vec", "mean"].pearson), digits=0),
        ),
        "contrastive chain": (
            r"MyModel has (\S+) / (\S+) / (\S+) under the mean, (\S+) / (\S+) / (\S+) under TF-IDF,\s+"
            r"(\S+) / (\S+) / (\S+) under DPCS, and (\S+) on IMDB \(`china-daily-contrastive",
            contrastive_chain(),
        ),
        "distillation": (r"distillation gains (\S+) \[(\S+), (\S+)\]\.", ablated(DISTILLED, NEITHER, 0)),
        "our loss": (
            r"gains (\S+) alone and (\S+) in addition to distillation",
            ablated(CONTRASTIVE, NEITHER, 0)[:1] + ablated(BOTH_CONTRASTIVE, DISTILLED, 0)[:1],
        ),
        "contrastive": (
            r"go from (\S+) to (\S+)\s+Spearman on STS-B test \(five seeds, standard deviation (\S+)\)\. "
            r"On SICK test they go from (\S+) to (\S+),",
            spoken(hundred(stsb), hundred(after), 100 * after.spread) + spoken(hundred(sick), hundred(there)),
        ),
        "weightings": (
            r"better than SIF \((\S+)\) and DPCS \((\S+)\)",
            spoken(*(hundred(best("refined", "stsb", 1, each)) for each in ("sif", "dpcs"))),
        ),
    }
