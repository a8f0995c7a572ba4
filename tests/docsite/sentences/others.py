"""Sentences of docs/levers.md, docs/reference/results.md and docs/how-to/distil-your-own-text.md."""

from collections.abc import Sequence
from statistics import fmean

from docsite.kept import matching, only, run
from docsite.tables.peers import KINDS, Kind
from tests.docsite.sentences.spoken import Sentence, hundred, spoken

PAIR = ("pearson", "spearman")
SHIPPED = (STUDENT, WITH_LAYER, TUNED) = ("student", "student, MLP head", "student, fine-tuned")
PRETRAINED = "student, fine-tuned, of teachers that are not fine-tuned"
TUNED_WITH_LAYER = "student, fine-tuned, from the student with an MLP head"


def recalled(domain: str, system: str, seeds: int) -> float:
    """Return the mean recall@10 of the first seeds on the texts that were kept out."""
    rows = matching(f"domains/{domain}", system=system, metric="recall_at_10", dataset="held-out texts", seeds=1)
    return fmean(hundred(row) for row in rows[:seeds])


def on_test(system: str) -> list[float]:
    """Pearson and Spearman on STS-B test: of the profile best, or of the levers that were tried on it."""
    return [
        run("best" if system in SHIPPED else "levers/test").value(system, "stsb", "mean", each) or 0 for each in PAIR
    ]


def gained(after: str, before: str, digits: int = 1) -> list[str]:
    """The gain on STS-B test in Pearson and in Spearman."""
    return spoken(*(one - other for one, other in zip(on_test(after), on_test(before), strict=True)), digits=digits)


def on_dev(table: str, system: str, metric: str = "pearson") -> float:
    return hundred(only(f"levers/{table}", system=system, dataset="stsb", split="dev", metric=metric))


def larger_vocabularies() -> list[str]:
    """The gains on STS-B dev of the whole vocabulary over a smaller one, and of GloVe's words over the whole one."""
    table = "bigrams-and-words"
    sizes = [
        ("after-training", "a vocabulary of words seen 20 times or more (19,718 tokens, not 45,946), others in pieces"),
        (table, "unchanged"),
        (table, "and in the same way 60,000 words that GloVe knows and the corpus lacks"),
    ]
    few, all_words, more = ([on_dev(*size, metric) for metric in PAIR] for size in sizes)
    gains = [
        after - before for pair in ((all_words, few), (more, all_words)) for after, before in zip(*pair, strict=True)
    ]
    return spoken(*gains)


def kept_of_the_teacher(system: str, kinds: Sequence[Kind]) -> float:
    """Return the percentage of the teacher's mean over kinds of tasks that an encoder has in the suite."""
    found = run("suite/suite")
    means = [fmean(kind.mean(found, name) or 0 for kind in kinds) for name in (system, "teacher")]
    return 100 * means[0] / means[1]


def sentences() -> dict[str, Sentence]:
    banking, medical = (
        recalled(domain, "student from released", seeds) - recalled(domain, "student", seeds)
        for domain, seeds in (("banking77", 5), ("medical", 1))
    )
    further = on_dev("further-words", "20,000 further words: `best`") - on_dev("further-words", "without further words")
    retrieval = [kind for kind in KINDS if kind.title == "retrieval"]
    return {
        "share of the teacher": (
            r"the included encoder keeps (\S+) %, and with TF-IDF (\S+) %\. It keeps least in retrieval, (\S+) %",
            spoken(
                kept_of_the_teacher("released", KINDS),
                kept_of_the_teacher("released + TF-IDF", KINDS),
                kept_of_the_teacher("released", retrieval),
                digits=0,
            ),
        ),
        "released at two widths": (
            r"SICK-R's Spearman\s+is (\S+) with all and (\S+) with 160, as of the former release, "
            r"and SciFact (\S+) and (\S+), where",
            spoken(
                *(
                    run("suite/suite").value(system, *figure) or 0
                    for figure in (("sick", "mean", "spearman"), ("scifact", "search", "ndcg_at_10"))
                    for system in ("released", "released at 160")
                )
            ),
        ),
        "start from released": (
            r"and gain (\S+) points of recall@10\. Medical abstracts lose 4 points, not 9, and (\S+) points of",
            spoken(banking, -medical),
        ),
        "layer": (
            r"to test \((\S+) / (\S+), and (\S+) / (\S+)\); that",
            gained(WITH_LAYER, STUDENT) + gained(TUNED_WITH_LAYER, PRETRAINED),
        ),
        "fine-tuned teachers": (
            r"gained \S+ / \S+ on dev and (\S+) / (\S+) on test:",
            gained(TUNED, TUNED_WITH_LAYER, 2),
        ),
        "short of the aim": (
            r"without ratings is (\S+) / (\S+) short of 81 / 80 with the layer",
            spoken(*(aim - reached for aim, reached in zip((81, 80), on_test(WITH_LAYER), strict=True))),
        ),
        "size of the vocabulary": (
            r"here: (\S+) / (\S+) points from 20,000 to 46,000 tokens, (\S+) / (\S+) from\s+words that",
            larger_vocabularies(),
        ),
        "size of the vocabulary, in short": (
            r"46,000 tokens are (\S+) / (\S+) points better than 20,000; "
            r"untrained words from GloVe gain (\S+) / (\S+) more",
            larger_vocabularies(),
        ),
        "further words": (r"that of the further\s+words and the direction \((\S+) and \S+ on dev\)", spoken(further)),
    }
