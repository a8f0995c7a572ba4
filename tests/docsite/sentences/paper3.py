"""Sentences of docs/papers_2_and_3.md on paper 3."""

import json

from docsite.kept import matching, only
from docsite.tables.paper3 import CORRELATIONS, FOCUS, WEIGHTS, Encoder
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.papers.paper3.gains import AFTER, BEFORE, CROSSED, TRAINED, UNTRAINED
from tests.docsite.sentences.spoken import Sentence, bounds, hundred, spoken
from tests.workspace import ROOT

L3, L6, MPNET, STUDENT = (Encoder(name) for name in ("minilm-l3", "minilm-l6", "mpnet", "student"))
SETS = ("sick", "stsb")


def gain(encoder: Encoder, dataset: str, weight: float = 0.2, metric: str = "pearson") -> float:
    """The gain over W_cf = 0, in points."""
    return hundred(encoder.row(dataset, weight, f"{metric} gain"))


def entailment(encoder: Encoder, *weights: float, digits: int = 1) -> list[str]:
    """SICK-E at some weights."""
    return spoken(*(hundred(encoder.row("sick", weight, "accuracy")) for weight in weights), digits=digits)


def entailment_gain(encoder: Encoder, weight: float, digits: int = 2) -> list[str]:
    """The gain in SICK-E, with its interval."""
    return spoken(*bounds(encoder.row("sick", weight, "accuracy gain")), digits=digits)


def first_loss(encoder: Encoder, dataset: str, metric: str) -> str:
    """Return the smallest weight from which on every interval of the gain is below zero."""
    highest = {weight: encoder.row(dataset, weight, f"{metric} gain").high or 0.0 for weight in WEIGHTS if weight}
    lost = [weight for weight in highest if all(high < 0 for other, high in highest.items() if other >= weight)]
    return f"{lost[0]:g}"


def crossed(dataset: str, metric: str) -> float:
    """A figure of L3 as a cross-encoder of paper 3."""
    return hundred(only(FOCUS, encoder="minilm-l3", strategy=CROSSED, dataset=dataset, metric=metric))


def on_training_pairs(weight: float) -> float:
    """SICK-E of L3 by logistic regression that was trained on the training pairs."""
    cell = {"encoder": "minilm-l3", "weight": weight, "strategy": UNTRAINED, "pooling": "mean"}
    return hundred(only(FOCUS, metric="accuracy", protocol=f"trained on train, {BEFORE}", **cell))


def by_distance(distance: str) -> float:
    """Spearman of L3 on STS-B without the component by another measure than the cosine."""
    cell = {"encoder": "minilm-l3", "weight": 0.0, "dataset": "stsb", "pooling": "mean"}
    return hundred(only(FOCUS, metric="spearman", protocol=f"component focus by {distance}, {AFTER}", **cell))


def with_labels(encoder: str) -> Result:
    """SICK-E of the mean of the weights of encoders that were trained on labels, too."""
    return only("component_focus/sick+labels", encoder=encoder, strategy=TRAINED, metric="accuracy", seed=MODEL_SOUP)


def in_the_papers_order() -> dict[str, Sentence]:
    """Sentences on tokens that are added before pooling."""
    l3, l6 = (Encoder(name, order=BEFORE) for name in ("minilm-l3", "minilm-l6"))
    l3_with, l6_with = (Encoder(name, trained=True, order=BEFORE) for name in ("minilm-l3", "minilm-l6"))
    return {
        "not fine-tuned": (
            r"L3 and L6 gain (\S+) and (\S+) on SICK-R; on STS-B L6 gains (\S+) and",
            spoken(gain(l3, "sick"), gain(l6, "sick"), gain(l6, "stsb")),
        ),
        "a large weight": (
            r"At W_cf = 6 it is (\S+) points on\s+SICK-R and (\S+) on STS-B\. SICK-E does not move: (\S+) and (\S+) "
            r"in ten folds of the test pairs, (\S+) and (\S+) if",
            spoken(*(-gain(l3, dataset, 6.0) for dataset in SETS))
            + entailment(l3, 0.0, 0.2, digits=2)
            + spoken(*(on_training_pairs(weight) for weight in (0.0, 0.2)), digits=2),
        ),
        "fine-tuned at a large weight": (
            r"it is (\S+) on SICK-R and (\S+) on STS-B\. At 0\.2 SICK-E is (\S+) after (\S+), (\S+) \[(\S+), (\S+)\]",
            spoken(*(-gain(l3_with, dataset, 6.0) for dataset in SETS))
            + entailment(l3_with, 0.2, 0.0)
            + entailment_gain(l3_with, 0.2),
        ),
        "where the losses begin": (
            r"From (\S+) on SICK-R and from (\S+) on STS-B the loss can be told from zero, and SICK-E loses from (\S+)",
            [
                first_loss(l3_with, "sick", "pearson"),
                first_loss(l3_with, "stsb", "pearson"),
                first_loss(l3_with, "sick", "accuracy"),
            ],
        ),
        "L6, in entailment": (
            r"SICK-E goes from (\S+) to (\S+)\s+\((\S+) \[(\S+), (\S+)\]\)",
            entailment(l6_with, 0.0, 0.2) + entailment_gain(l6_with, 0.2, digits=1),
        ),
    }


def sentences() -> dict[str, Sentence]:
    untrained = [L3, L6, MPNET, STUDENT]
    related = [gain(encoder, "sick") for encoder in untrained]
    entailed = [gain(encoder, "sick", metric="accuracy") for encoder in (L3, MPNET, STUDENT)]
    use = Encoder("USE multilingual v3")
    l3_with, l6_with = (Encoder(name, trained=True) for name in ("minilm-l3", "minilm-l6"))
    parser = json.loads((ROOT / "models/syntax/scores.json").read_text(encoding="utf-8"))
    means = [Encoder(name) for name in ("glove", "glove-content")]
    glove, content = (hundred(mean.row("stsb", 0.0, "spearman")) for mean in means)
    small = [gain(L3, "sick", weight, "accuracy") for weight in (0.2, 0.3, 0.4)]
    small_student = [gain(STUDENT, "sick", weight, "accuracy") for weight in (0.1, 0.2, 0.3)]
    spreads = [
        row.spread for row in matching(FOCUS, metric="pearson", strategy=TRAINED, seed=None) if row.spread is not None
    ]
    return {
        **in_the_papers_order(),
        "relatedness": (
            r"in relatedness \| (\S+) to (\S+) points on SICK-R and nothing on STS-B \(L3 loses (\S+)\)",
            spoken(min(related), max(related), -gain(L3, "stsb")),
        ),
        "entailment": (
            r"L3, mpnet and the static student gain (\S+) to (\S+) \|",
            spoken(min(entailed), max(entailed)),
        ),
        "parser": (r"LAS (\S+) on UD English", spoken(parser["test"]["LAS"])),
        "spread": (
            r"Seeds differ by a standard deviation\s+of (\S+) to (\S+) points of Pearson",
            spoken(100 * min(spreads), 100 * max(spreads), digits=2),
        ),
        "use": (
            r"Its SICK-E\s+goes from (\S+) to (\S+), a gain of (\S+) \[(\S+), (\S+)\];",
            entailment(use, 0.0, 0.2) + entailment_gain(use, 0.2),
        ),
        "entailment by encoder": (
            r"L3 gains \S+ \[\S+ \S+ \((\S+) to (\S+)\), L6 has .*?\], mpnet\s+gains \S+ \[\S+ \S+ \((\S+) to (\S+)\) "
            r"and the static student \S+ \[\S+ \S+ \((\S+) to (\S+)\)\. "
            r"At 0\.5 and 1 L6's\s+seed 1 gains (\S+) and (\S+) \(below",
            [said for encoder in (L3, MPNET, STUDENT) for said in entailment(encoder, 0.0, 0.2, digits=2)]
            + spoken(*(gain(l6_with, "sick", weight, "accuracy") for weight in (0.5, 1.0))),
        ),
        "distances": (
            r"on STS-B \((\S+) and (\S+) for (\S+)\)",
            spoken(
                by_distance("manhattan"), by_distance("euclidean"), hundred(L3.row("stsb", 0.0, "spearman")), digits=2
            ),
        ),
        "function words": (
            r"(\S+) to (\S+) points are left\. On STS-B's Spearman leaving them out is worth (\S+)\s+points, "
            r"the component (\S+)\.",
            spoken(*sorted(gain(means[1], dataset) for dataset in SETS))
            + spoken(content - glove, hundred(means[0].row("stsb", 0.2, "spearman")) - glove),
        ),
        "large weights": (
            r"over 0, we (\S+) on SICK-R and\s+(\S+) on STS-B\.",
            spoken(*(-gain(l3_with, dataset, 6.0) for dataset in SETS)),
        ),
        "small weights": (
            r"SICK-E of L3 gains (\S+) to (\S+) at 0\.2 to 0\.4, that of the student (\S+) to (\S+) at 0\.1 to",
            spoken(min(small), max(small), min(small_student), max(small_student)),
        ),
        "cross-encoder": (
            r"L3 has (\S+) / (\S+) on STS-B and (\S+) / (\S+) on SICK-R as a cross-encoder",
            spoken(*(crossed(dataset, each) for dataset in ("stsb", "sick") for each in CORRELATIONS)),
        ),
        "model soup of L6": (
            r"five L6 trained on labels, too: SICK-E (\S+), with",
            spoken(hundred(with_labels("minilm-l6")), digits=2),
        ),
        "model soup of mpnet": (r"two mpnets so trained: (\S+), with", spoken(hundred(with_labels("mpnet")), digits=2)),
        "tags of the student": (
            r"static student's Spearman from (\S+) to (\S+) on SICK-R, and from (\S+)\s+to (\S+) on STS-B",
            spoken(
                *(hundred(STUDENT.row(dataset, weight, "spearman")) for dataset in SETS for weight in (0.0, "tags"))
            ),
        ),
    }
