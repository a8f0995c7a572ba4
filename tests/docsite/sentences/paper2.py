"""Sentences of docs/papers_2_and_3.md on paper 2."""

from docsite.kept import matching, only, results
from docsite.tables.paper2 import MRPC, RATES
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from tests.docsite.sentences.spoken import Sentence, hundred, spoken

EARLIER = "earlier/mrpc"
L3, L6 = "minilm-l3", "minilm-l6"
ALONE = "the heads alone"


def accuracy(encoder: str, start: str, strategy: str, pooling: str = "mean") -> float:
    cell = {"encoder": encoder, "start": start, "strategy": strategy, "pooling": pooling, "seed": None}
    row = only(MRPC, metric="accuracy", table="", dataset="mrpc", split="test", **cell)
    return 100 * round((row.number or 0) * row.n) / row.n if row.seeds == 1 else hundred(row)


def validated(seed: int | str, processor: str = "") -> float:
    """The accuracy of mpnet on the validation pairs, after STS-B."""
    cell = {"encoder": "mpnet", "start": "intermediate", "strategy": "pair", "split": "validation"}
    if seed == MODEL_SOUP:
        return hundred(only(MRPC, metric="accuracy", seed=seed, **cell))
    protocol = f"intermediate-pair{processor}"
    return hundred(only(EARLIER, metric="accuracy", seed=seed, protocol=protocol, **cell))


def cosines() -> list[float]:
    """The accuracy of encoders that are not fine-tuned, by encoder and pooling."""
    places = [(encoder, pooling) for encoder in (L3, L6) for pooling in ("mean", "cls", "max")]
    return [accuracy(encoder, "", "cosine", pooling) for encoder, pooling in places]


def best_head_over_cosine() -> float:
    """The largest gain in accuracy of a head on a frozen encoder over the cosine of the same encoder and pooling."""
    heads = matching(MRPC, start=ALONE, metric="accuracy", split="test")
    assert heads
    return max(hundred(row) - accuracy(row.encoder, "", "cosine", row.pooling) for row in heads)


def hidden_gains() -> list[float]:
    """The gains of heads with hidden layers over the same head without."""
    heads = [row for row in results(MRPC) if row.start.startswith(f"{ALONE}, ")]
    heads = [row for row in heads if row.metric == "accuracy" and row.split == "test"]
    return [hundred(row) - without_layers(row) for row in heads]


def without_layers(row: Result) -> float:
    cell = {"encoder": row.encoder, "pooling": row.pooling, "strategy": row.strategy}
    return hundred(only(MRPC, start=ALONE, metric="accuracy", split="test", **cell))


def logistic_by_cosine() -> list[float]:
    cell = {"encoder": L3, "start": "", "strategy": "logistic", "pooling": "mean", "dataset": "mrpc"}
    return [hundred(only(MRPC, metric=f"{metric} by cosine", **cell)) for metric in ("accuracy", "f1")]


def on_stsb(strategy: str) -> float:
    """Spearman of L6 on STS-B after a strategy."""
    name = MRPC if strategy == "cosine" else EARLIER
    return hundred(
        only(name, encoder=L6, pooling="mean", strategy=strategy, start="", dataset="stsb", metric="spearman")
    )


def sentences() -> dict[str, Sentence]:
    siamese = [accuracy(L3, "", "siamese", each) - accuracy(L3, "", "cosine", each) for each in ("mean", "cls", "max")]
    signs = [("+" if value > 0 else "") + said for value, said in zip(siamese, spoken(*siamese), strict=True)]
    hidden = hidden_gains()
    elsewhere = ", another processor"
    return {
        "by cosine": (r"the vectors that it trained have (\S+) / (\S+):", spoken(*logistic_by_cosine())),
        "rates": (
            r"At the best of four rates the cross-encoder has (\S+) / (\S+), still",
            spoken(*(hundred(only(RATES, strategy="pair", split="test", metric=each)) for each in ("accuracy", "f1"))),
        ),
        "siamese": (
            r"Siamese before the cosine baseline holds\s+with L6 only \(L3: (\S+), (\S+), (\S+) points\)",
            signs,
        ),
        "mpnet": (
            r"the gain from STS-B \((\S+) points on\s+average\)",
            spoken(accuracy("mpnet", "intermediate", "pair") - accuracy("mpnet", "modern", "pair")),
        ),
        "mpnet on validation pairs": (
            r"accuracy of (\S+) there; the others have (\S+), (\S+) and (\S+), the mean of the weights (\S+)\. "
            r"Of the two on the other\s+processor they choose the first \((\S+) and (\S+)\)",
            spoken(*(validated(seed) for seed in (3, 1, 2, 4, MODEL_SOUP)))
            + spoken(*(validated(seed, elsewhere) for seed in (1, 2))),
        ),
        "triplets": (
            r"The cross-encoder as a start gains (\S+) points for\s+triplets .* and loses (\S+) for siamese",
            spoken(
                accuracy(L6, "combined", "triplet") - accuracy(L6, "", "triplet"),
                accuracy(L6, "", "siamese") - accuracy(L6, "combined", "siamese"),
            ),
        ),
        "cosent": (r"and CoSENT with L6 adds (\S+)\.", spoken(on_stsb("cosent") - on_stsb("cosine"))),
        "heads alone": (
            r"the cosine baseline \((\S+), (\S+), (\S+), (\S+), (\S+) and (\S+)\)\s+none gains more than (\S+)\.",
            spoken(*cosines(), best_head_over_cosine()),
        ),
        "hidden layers": (
            r"the (\S+) heads gain (\S+) points on\s+average, between (\S+) and (\S+), and",
            [str(len(hidden)), *spoken(sum(hidden) / len(hidden), min(hidden), max(hidden))],
        ),
    }
