"""Every figure that docs and docstrings say about the papers is that of the table it comes from, in reports/runs.

Most tables of docs/paper*.md are generated (docsite). The others are read as they stand: each row names its cell.
Figures in sentences are listed here with the way they follow from a table. What the page says is "recorded only here"
cannot be compared, and is not.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from docsite.kept import only, results
from docsite.tables.paper1 import CHAIN
from docsite.tables.paper2 import MRPC
from docsite.tables.paper3 import Encoder
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.papers.paper1.ablation import BOTH_CONTRASTIVE, CONTRASTIVE
from sentence_distillery.papers.paper1.claims import BOTH, DISTILLED, KLD, NEITHER
from sentence_distillery.papers.paper1.gains import between, read_gains
from sentence_distillery.papers.paper1.published import PAPER_1
from tests.workspace import ROOT

DOCS = sorted((ROOT / "docs").glob("paper*.md"))
RUNS = ROOT / "reports/runs"
NUMBER = r"[−+-]?\d+\.\d+"
BEST = "best"


@functools.cache
def text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in DOCS)


@dataclass(frozen=True)
class Table:
    """A Markdown table: the cells of its head, and of its rows."""

    head: list[str]
    rows: list[list[str]]


def cells(line: str) -> list[str]:
    return [cell.strip().replace("**", "").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def tables() -> Iterator[Table]:
    for block in re.findall(r"(?:^\|.*\n)+", text(), re.M):
        head, _, *rows = map(cells, block.splitlines())
        yield Table(head, rows)


def numbers(cell: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(NUMBER, cell)]


def close(found: Sequence[float], expected: Sequence[float | None], digits: int) -> bool:
    """Compare as the page rounds; a half may go either way, since the tables have four digits."""
    bound = 0.5 * 10**-digits + 1e-6
    return len(found) == len(expected) and all(
        other is not None and abs(one - other) <= bound for one, other in zip(found, expected, strict=True)
    )


def hundred(row: Result | None) -> float | None:
    return None if row is None or row.number is None else 100 * row.number


# Paper 2

STRATEGIES = {
    "cosine baseline, not fine-tuned": ("", "cosine"),
    "siamese: pairwise margin": ("", "siamese"),
    "triplet": ("", "triplet"),
    "logistic regression on u, v, |u−v|, u·v": ("", "logistic"),
    "logistic regression": ("", "logistic"),
    "cross-encoder, fine-tuned": ("combined", "pair"),
    "the same first, then cosine": ("combined", "cosine"),
    "the same first, then siamese": ("combined", "siamese"),
    "the same first, then siamese (both bfloat16)": ("combined", "siamese"),
    "the same first, then triplet": ("combined", "triplet"),
    "the same first, then logistic regression": ("combined", "logistic"),
    "CoSENT loss": ("", "cosent"),
    "CoSENT loss, three seeds": ("", "cosent"),
    "multiple negatives": ("", "ranking"),
    "cross-encoder, fine-tuned, three seeds": ("modern", "pair"),
    "the same, STS-B's scores first, three seeds": ("intermediate", "pair"),
    "the same, STS-B's scores first, four seeds": ("intermediate", "pair"),
    "the mean of their weights": ("intermediate", "pair"),
}
ENCODERS = {"MiniLM-L3": "minilm-l3", "MiniLM-L6": "minilm-l6", "mpnet": "mpnet"}


def paper_2_rows() -> Iterator[tuple[list[str], str, str, str]]:
    """Yield each row of the four tables of strategies, with its encoder, pooling and strategy."""
    for table in tables():
        title = table.head[0]
        encoder = next((name for label, name in ENCODERS.items() if title.startswith(label)), "")
        if encoder and title.endswith("strategy"):
            usual = next(pooling for pooling in ("MEAN", "MAX", "CLS") if pooling in title)
            for row in table.rows:
                named = re.match(r"(MAX|CLS): (.*)", row[0])
                yield row, encoder, (named[1] if named else usual).lower(), named[2] if named else row[0]


def test_paper_2s_strategies() -> None:
    """Accuracy and F1 with one digit, the spread of seeds, and the interval if the table has it."""
    compared = 0
    for row, encoder, pooling, name in paper_2_rows():
        if name not in STRATEGIES:
            assert "processor" in name, row  # recorded only there
            continue
        start, strategy = STRATEGIES[name]
        where: dict[str, str | None] = {
            "encoder": encoder,
            "pooling": pooling,
            "start": start,
            "strategy": strategy,
            "split": "test",
        }
        where |= {"table": "", "dataset": "mrpc", "seed": MODEL_SOUP if name.startswith("the mean") else None}
        for cell, metric in ((row[2], "accuracy"), (row[3], "f1")):
            kept = only(MRPC, metric=metric, **where)
            said, *more = numbers(cell)
            assert close([said], [hundred(kept)], 1), (row, metric, hundred(kept))
            if "±" in cell:
                assert close(more, [100 * (kept.spread or 0)], 1), (row, metric)
            elif more and kept.low is not None and kept.high is not None:
                assert close(more, [100 * kept.low, 100 * kept.high], 1), (row, metric)
            compared += 1
    assert compared > 100


# Paper 3


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
    gained = gain_of(use.row("sick", 0.2, "accuracy gain"))
    return {
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
            spoken(*(hundred(each) or 0 for each in entailed)) + spoken(*(each or 0 for each in gained), digits=2),
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


def test_cells_with_intervals_in_git() -> None:
    """The page says of how many cells of paper 2 the table of runs has the interval."""
    found = re.search(r"the intervals and STS-B of all but (\w+) cells, those of table 4 not counted", text())
    kept = sum(row.low is not None for row in results(MRPC) if (row.metric, row.table) == ("accuracy", ""))
    assert found and {"fifteen": 15}[found[1]] == kept
