"""Every figure that docs and docstrings say about the papers is that of the table it comes from, in reports/runs.

Tables of docs/paper*.md are generated (docsite). Figures in sentences, and in the verdicts in words, are listed here
with the way they follow from a table. What the page says is "recorded only here" cannot be compared, and is not.
"""

import functools
import json
import re
from collections.abc import Mapping

import pytest

from docsite.kept import only
from docsite.tables.paper1 import CHAIN
from docsite.tables.paper2 import MRPC, RATES
from docsite.tables.paper3 import CORRELATIONS, FOCUS, Encoder
from sentence_distillery.evaluation.results import Result
from sentence_distillery.papers.paper1.ablation import BOTH_CONTRASTIVE, CONTRASTIVE
from sentence_distillery.papers.paper1.claims import BOTH, DISTILLED, KLD, NEITHER
from sentence_distillery.papers.paper1.gains import between, read_gains
from sentence_distillery.papers.paper1.published import PAPER_1
from sentence_distillery.papers.paper3.gains import BEFORE, CROSSED
from tests.workspace import ROOT

DOCS = sorted((ROOT / "docs").glob("paper*.md"))
RUNS = ROOT / "reports/runs"
BEST = "best"


@functools.cache
def text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in DOCS)


def hundred(row: Result | None) -> float | None:
    return None if row is None or row.number is None else 100 * row.number


def gain_of(row: Result | None) -> list[float | None]:
    return (
        [None] * 3
        if row is None or row.number is None
        else [100 * row.number, *(100 * (end or 0) for end in (row.low, row.high))]
    )


# Sentences


def best(system: str, dataset: str, seeds: int, protocol: str = "mean", metric: str = "spearman") -> Result:
    return only(BEST, system=system, dataset=dataset, split="test", protocol=protocol, metric=metric, seeds=seeds)


def accuracy(encoder: str, start: str, strategy: str, pooling: str = "mean") -> float:
    where = {
        "encoder": encoder,
        "start": start,
        "strategy": strategy,
        "pooling": pooling,
        "seed": None,
        "split": "test",
    }
    found = hundred(only(MRPC, metric="accuracy", table="", dataset="mrpc", **where))
    assert found is not None
    return found


def chain(system: str) -> float:
    """Pearson of the chain as printed under the mean, in points."""
    found = hundred(only(CHAIN, system=system, dataset="stsb", split="test", protocol="mean", metric="pearson"))
    assert found is not None
    return found


def contrastive_chain() -> list[str]:
    """MyModel's figures in the chain with the contrastive loss: three weightings of STS-B, then F1 on IMDB."""
    own = functools.partial(only, "paper1/china-daily-contrastive", system="paper student", split="test")
    said = []
    for protocol in ("mean", "tf-idf", "dpcs"):
        pearson, spearman, mae = (
            own(dataset="stsb", protocol=protocol, metric=metric) for metric in ("pearson", "spearman", "mae")
        )
        assert mae.number is not None
        said += [*spoken(hundred(pearson) or 0, hundred(spearman) or 0), f"{mae.number:.2f}"]
    return [*said, *spoken(hundred(own(dataset="imdb", protocol="sgd", metric="f1")) or 0)]


def ablated(one: str, other: str, digits: int) -> list[str]:
    """The gain of a part of paper 1's method over another under the mean, in points, with its interval."""
    gain = between(read_gains(RUNS / "paper1/ablation.json"), (one, "mean"), (other, "mean"), "pearson")
    assert gain
    return spoken(*(100 * value for value in (gain.gain, gain.low, gain.high)), digits=digits)


def spoken(*values: float, digits: int = 1) -> list[str]:
    return [f"{value:.{digits}f}".replace("-", "−") for value in values]


UNTRAINED = [Encoder(name) for name in ("minilm-l3", "minilm-l6", "mpnet", "student")]


def gained(encoder: Encoder, dataset: str, metric: str = "pearson") -> float:
    """The gain at W_cf = 0.2, in points."""
    return hundred(encoder.row(dataset, 0.2, f"{metric} gain")) or 0


def crossed(dataset: str, metric: str) -> Result:
    """A figure of L3 as a cross-encoder of paper 3."""
    return only(FOCUS, encoder="minilm-l3", strategy=CROSSED, dataset=dataset, metric=metric)


def verdicts() -> Mapping[str, tuple[str, list[str]]]:
    """The verdicts of docs/papers_2_and_3.md that have figures with a digit: as `sentences`."""
    related = [gained(encoder, "sick") for encoder in UNTRAINED]
    entailed = [gained(encoder, "sick", "accuracy") for encoder in UNTRAINED if encoder.name != "minilm-l6"]
    l3, l6 = (Encoder(name, order=BEFORE) for name in ("minilm-l3", "minilm-l6"))
    return {
        "not fine-tuned": (
            r"in relatedness \| (\S+) to (\S+) points on SICK-R and nothing on STS-B \(L3 loses (\S+)\)",
            spoken(min(related), max(related), -gained(UNTRAINED[0], "stsb")),
        ),
        "entailment": (
            r"L3, mpnet and the static student gain (\S+) to (\S+) \|",
            spoken(min(entailed), max(entailed)),
        ),
        "the paper's order": (
            r"L3 and L6 gain (\S+) and (\S+) on SICK-R; on STS-B L6 gains (\S+) and",
            spoken(gained(l3, "sick"), gained(l6, "sick"), gained(l6, "stsb")),
        ),
    }


def sentences() -> Mapping[str, tuple[str, list[str]]]:
    """File -> a pattern in it with groups, and what the groups have to be."""
    l3, l6 = ("minilm-l3", "minilm-l6")
    siamese = [accuracy(l3, "", "siamese", each) - accuracy(l3, "", "cosine", each) for each in ("mean", "cls", "max")]
    signs = [("+" if value > 0 else "") + said for value, said in zip(siamese, spoken(*siamese), strict=True)]
    stsb, sick = (best("skip-gram", each, 5) for each in ("stsb", "sick"))
    after, there = (best("refined", each, 5) for each in ("stsb", "sick"))
    assert after.spread is not None
    parser = json.loads((ROOT / "models/syntax/scores.json").read_text(encoding="utf-8"))
    use = Encoder("USE multilingual v3")
    entailed = [use.row("sick", weight, "accuracy") for weight in (0.0, 0.2)]
    gain = gain_of(use.row("sick", 0.2, "accuracy gain"))
    ordered = Encoder(l6, trained=True, order=BEFORE)
    logistic = {"encoder": l3, "start": "", "strategy": "logistic", "pooling": "mean", "dataset": "mrpc"}
    return {
        **verdicts(),
        "ablation": (
            r"of Pearson \((\S+) \[(\S+), (\S+)\] under the mean.*?it gains nothing \((\S+) \[(\S+), (\S+)\]\)",
            ablated(KLD, NEITHER, 2) + ablated(BOTH, DISTILLED, 2),
        ),
        "parser": (r"LAS (\S+) on UD English", spoken(parser["test"]["LAS"])),
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
        "use": (
            r"Its SICK-E\s+goes from (\S+) to (\S+), a gain of (\S+) \[(\S+), (\S+)\];",
            spoken(*(hundred(each) or 0 for each in entailed)) + spoken(*(each or 0 for each in gain), digits=2),
        ),
        "entailment in the paper's order": (
            r"SICK-E goes from (\S+) to (\S+)\s+\((\S+) \[(\S+), (\S+)\]\)",
            spoken(*(hundred(ordered.row("sick", weight, "accuracy")) or 0 for weight in (0.0, 0.2)))
            + spoken(*(each or 0 for each in gain_of(ordered.row("sick", 0.2, "accuracy gain")))),
        ),
        "by cosine": (
            r"the vectors that it trained have (\S+) / (\S+):",
            spoken(*(hundred(only(MRPC, metric=f"{each} by cosine", **logistic)) or 0 for each in ("accuracy", "f1"))),
        ),
        "rates": (
            r"At the best of four rates the cross-encoder has (\S+) / (\S+), still",
            spoken(
                *(hundred(only(RATES, strategy="pair", split="test", metric=each)) or 0 for each in ("accuracy", "f1"))
            ),
        ),
        "cross-encoder": (
            r"L3 has (\S+) / (\S+) on STS-B and (\S+) / (\S+) on SICK-R as a cross-encoder",
            spoken(*(hundred(crossed(dataset, each)) or 0 for dataset in ("stsb", "sick") for each in CORRELATIONS)),
        ),
        "siamese": (
            r"Siamese before the cosine baseline holds\s+with L6 only \(L3: (\S+), (\S+), (\S+) points\)",
            signs,
        ),
        "mpnet": (
            r"the gain from STS-B \((\S+) points on\s+average\)",
            spoken(accuracy("mpnet", "intermediate", "pair") - accuracy("mpnet", "modern", "pair")),
        ),
        "triplets": (
            r"The cross-encoder as a start gains (\S+) points for\s+triplets .* and loses (\S+) for siamese",
            spoken(
                accuracy(l6, "combined", "triplet") - accuracy(l6, "", "triplet"),
                accuracy(l6, "", "siamese") - accuracy(l6, "combined", "siamese"),
            ),
        ),
        "contrastive": (
            r"go from (\S+) to (\S+)\s+Spearman on STS-B test \(five seeds, standard deviation (\S+)\)\. "
            r"On SICK test they go from (\S+) to (\S+),",
            spoken(100 * (stsb.number or 0), 100 * (after.number or 0), 100 * after.spread)
            + spoken(100 * (sick.number or 0), 100 * (there.number or 0)),
        ),
        "weightings": (
            r"better than SIF \((\S+)\) and DPCS \((\S+)\)",
            spoken(*(100 * (best("refined", "stsb", 1, each).number or 0) for each in ("sif", "dpcs"))),
        ),
    }


@pytest.mark.parametrize("name", sorted(sentences()))
def test_sentences(name: str) -> None:
    pattern, expected = sentences()[name]
    source = (ROOT / "sentence_distillery/word_vectors/contrastive.py").read_text(encoding="utf-8")
    found = re.search(pattern, text() + source, re.DOTALL)
    assert found, pattern
    assert [group.strip("*") for group in found.groups()] == expected
