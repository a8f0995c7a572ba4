"""The tables of reproductions/docs/levers.md: what was tried, the figures before and after, and the decision."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from docsite.saved import REPORTS
from reproductions.docs.tables.cells import NONE, bounded, grid, points
from reproductions.docs.tables.rows import matching, results, single, source
from reproductions.docs.tables.settings import rows_of
from sentence_distillery.evaluation.results import Result

BEST, EARLIER, EQUAL = "best", "levers/test", "equal-bytes"


@dataclass(frozen=True)
class Lever:
    """A change of one part of the training.

    Attributes:
        tried: The change, in words.
        before: The table and the beginning of the name of the row without the change, such as `students: teacher A`.
        after: The beginning of the name of the row with it, in the same table unless it names another.
        decision: Whether the encoder has it now, and why.
        protocol: Of both rows; None if the table has one for each set.
    """

    tried: str
    before: str
    after: str
    decision: str
    protocol: str | None = None

    @property
    def rows(self) -> tuple[list[Result], list[Result]]:
        """The rows of both settings."""
        table, _, before = self.before.partition(": ")
        other, colon, after = self.after.partition(" | ")
        return _rows(table, before), _rows(other, after) if colon else _rows(table, self.after)

    def cell(self, dataset: str, metric: str) -> str:
        """Show a figure before and after, a dash if the tables lack it."""
        found = [
            [row for row in rows if (row.dataset, row.metric) == (dataset, metric) and self._has(row)]
            for rows in self.rows
        ]
        if not all(found):
            return NONE
        return " → ".join(f"{points(single(self.before, rows, self.after)):.1f}" for rows in found)

    def _has(self, row: Result) -> bool:
        return row.protocol == self.protocol if self.protocol else row.protocol not in ("fine-tuned", "teachers")


def _rows(table: str, start: str) -> list[Result]:
    """Return the rows of the setting with this name, or of the only one that begins so."""
    found = results(f"levers/{table}")
    named = [row for row in found if row.system == start]
    return named or [row for row in found if row.system.startswith(start)]


RATED = {"STS-B dev": ("stsb", "spearman"), "SICK trial": ("sick", "spearman")}
SEARCH = {"SciFact train": ("scifact", "ndcg_at_10"), "NFCorpus dev": ("nfcorpus", "ndcg_at_10")}
W0 = "A and B, w = 0, rate 1e-2, 4 epochs"
REVIEWS = "further-words | 20,000, and 150,000 sentences of reviews"

TEXT = (
    Lever("a second teacher of three layers", "stronger-teachers: A: MiniLM-L6", "A and B", "both, for `best`"),
    Lever("a third of twelve layers, mpnet", "stronger-teachers: A and B", "A, B and C", "no: five times the cost"),
    Lever("rate 3e-3, not 1e-2", f"students: {W0}", "A and B, w = 0, rate 3e-3", "yes, 2e-3: rare words move less"),
    Lever(
        "a relational loss, w = 0.1, 3 epochs",
        "students: A and B, w = 0, rate 3e-3",
        "A and B, w = 0.1",
        "yes; more weight is worse",
    ),
    Lever("384 dimensions in training", f"students: {W0}", f"{W0}, 384", "no"),
    Lever(
        "batches of similar sentences",
        "students: teacher A, w = 1, rate 1e-2, 3 epochs",
        "teacher A, w = 1, rate 1e-2, 3 epochs, batches",
        "no",
    ),
    Lever("temperature 0.02, not 0.05", "bigrams-and-words: unchanged", "relational temperature 0.02", "no"),
    Lever(
        "treebank and MRPC texts",
        "students: teacher B alone, w = 0.1, rate 2e-3, 4 epochs",
        "B, and 16,301",
        "yes: other kinds than news",
    ),
    Lever(
        "texts of STS-B and SICK train",
        "students: B, and 16,301",
        "B, and 25,935",
        "no: a benchmark's text says less about other text",
    ),
    Lever("150,000 sentences of reviews", "further-words: 20,000 further words", REVIEWS, "no: SICK loses as much"),
    Lever(
        "captions of one picture drawn together",
        "bigrams-and-words: unchanged",
        "and captions of one picture drawn",
        "no",
    ),
    Lever("420,000 pairs with the teachers' cosine", "pairs-without-ratings: none", "the same 419,987", "no"),
)
VOCABULARY = (
    Lever(
        "46,000 tokens, not 20,000",
        "after-training: a vocabulary of words seen 20",
        "bigrams-and-words | unchanged",
        "yes: the largest gain of all",
    ),
    Lever(
        "20,000 words of GloVe, not trained",
        "further-words: without further words",
        "20,000 further words",
        "yes; on test within noise",
    ),
    Lever("56,000 bigrams", "bigrams-and-words: unchanged", "and 56,369 word bigrams (10", "no: as another seed"),
    Lever(
        "unknown words left out, not cut",
        "bigrams-and-words: unchanged",
        "after-training | words outside the vocabulary",
        "no",
    ),
    Lever(
        "directions times variance^-0.1",
        "bigrams-and-words: unchanged",
        "after-training | each principal direction times its variance to the power of -0.1",
        "no: SICK loses",
    ),
    Lever(
        "128 dimensions, cut after training",
        "bigrams-and-words: unchanged",
        "after-training | 128 leading directions of",
        "yes, by principal components",
    ),
    Lever(
        "128 dimensions from the start",
        "bigrams-and-words: unchanged",
        "after-training | trained with 128",
        "no: cut afterwards",
    ),
)
HEADS = (
    Lever("MLP head of 256, vectors frozen", "mlp-head: nothing", "the vectors frozen, a layer of 256, 5", "a variant"),
    Lever(
        "MLP head of 1,024, 10 epochs", "mlp-head: nothing", "the vectors frozen, a layer of 1,024", "no: as the small"
    ),
    Lever(
        "head and vectors from the start", "mlp-head: nothing", "vectors and layer together", "no: frozen takes seconds"
    ),
    Lever(
        "token weights by context",
        "mlp-head: nothing",
        "token weights by context",
        "no: no other library could load it",
    ),
    Lever(
        "products of neighbouring words",
        "mlp-head-frozen: a layer of 256, 3 epochs",
        "a layer of 256, 3 epochs, and",
        "no",
    ),
    Lever(
        "fine-tuning the token vectors",
        "fine-tuning: nothing",
        "the token vectors, rate 1e-3",
        "no: 5,000 pairs overfit",
    ),
    Lever("a linear map, Pearson as the loss", "fine-tuning: nothing", "one linear map, rate 1e-3; negative", "yes"),
    Lever("and a weight for each token", "fine-tuning: nothing", "map and token weights, 1e-3 and 1e-2", "yes"),
    Lever(
        "and a direction",
        "fine-tuning-further-words: map and token weights",
        "also the direction, rate 1e-2",
        "yes; on test within noise",
    ),
    Lever(
        "labels of fine-tuned teachers",
        "fine-tuned-teachers: A and B, not fine-tuned",
        "A and B fine-tuned",
        "yes: the largest gain of ratings",
    ),
)
CHANNELS = (
    Lever("25,000 sentences of abstracts", "search: nothing", "25,000 sentences of", "no: the channel gains more"),
    Lever(
        "mean of the weights before and after",
        "weights-averaged: 0: the released encoder",
        "0.5",
        "no: one gains as the other loses",
    ),
    Lever(
        "stems as 768 columns of the table", "lexical-steps: none", "768 more columns of the table, weight 1.2", "no"
    ),
    Lever(
        "the channel beside the table, 768",
        "lexical-steps: none",
        "768 dimensions beside",
        "yes: equal length",
    ),
    Lever("and repetitions by their logarithm", "lexical-steps: none", "and a word that", "yes: `released-search`"),
    Lever(
        "and training on passages before",
        "lexical-steps: and a word that",
        "and trained on sentences",
        "no: a second model for one point",
    ),
    Lever("weight 0.3, not 1.2", "lexical-channel: 768 dimensions, weight 1.2", "768 dimensions, weight 0.3", "option"),
    Lever(
        "weight 0.5 for short texts, not 1.2",
        "lexical-channel: 768 dimensions, weight 1.2",
        "768 dimensions, weights 0.5 and 1.2",
        "yes",
    ),
    Lever("2,048 dimensions", "lexical-channel: 768 dimensions, weights 0.5 and 1.2", "2,048 dimensions", "option"),
    Lever("TF-IDF concatenated, weight 1", "with-words: the encoder alone", "1: `released", "how-to"),
    Lever(
        "best part of 40 words, and the whole",
        "long-texts: whole texts",
        "best part of 40 words, and",
        "how-to",
        protocol="released",
    ),
)


def levers(group: Sequence[Lever], columns: dict[str, tuple[str, str]]) -> list[str]:
    """Show some levers: the figures of each before and after."""
    rows = [[lever.tried, *(lever.cell(*place) for place in columns.values()), lever.decision] for lever in group]
    files = ", ".join(f"`{name}.csv`" for name in dict.fromkeys(_files(group)))
    lines = grid(["tried", *columns, "decided"], rows)
    about = f"From {files}, by scripts that are not kept."
    return [*lines[:1], lines[1].removesuffix("--: |") + "--- |", *lines[2:], "", about]


def _files(group: Sequence[Lever]) -> Iterator[str]:
    for lever in group:
        yield lever.before.partition(": ")[0]
        if " | " in lever.after:
            yield lever.after.partition(" | ")[0]


def variants() -> str:
    """The number of students whose figures on STS-B dev are saved: how many the recipe was chosen from."""
    files = sorted((REPORTS / "runs/levers").glob("*.csv"))
    rows = {(path.stem, row.system) for path in files for row in results(f"levers/{path.stem}") if is_dev(row)}
    return str(len(rows))


def is_dev(row: Result) -> bool:
    """Tell whether a row is on STS-B dev."""
    return (row.dataset, row.split) == ("stsb", "dev")


def test_splits() -> list[str]:
    """The run of `best` and earlier ones on the test splits."""
    now = [
        row
        for system in ("student", "student, MLP head", "student, fine-tuned")
        for dataset in ("stsb", "sick")
        for row in matching(BEST, system=system, dataset=dataset, split="test", protocol="mean", seeds=1)
        if row.metric in ("pearson", "spearman")
    ]
    return [*rows_of([*now, *results(EARLIER)], "system"), "", "From `test.csv` and `reports/runs/best.csv`."]


def by_kind(table: str, title: str, shown: Sequence[str] = ()) -> list[str]:
    """How each student differs from a released one on each kind of task, with the 95 % interval; `shown` () is all."""
    rows = {(row.system.removesuffix(" - released"), row.dataset): row for row in results(f"levers/{table}")}
    kinds = list(dict.fromkeys(kind for _, kind in rows))
    systems = shown or list(dict.fromkeys(system for system, _ in rows))
    cells = ([system, *(bounded(rows[system, kind]) for kind in kinds)] for system in systems)
    return [*grid([title, *kinds], cells), "", source(f"levers/{table}")]


EQUAL_BYTES = tuple(
    f"{size}, {bits} bits"
    for size, bits in (
        ("35,594 tokens, 208 dimensions", 16),
        ("54,142 tokens, 136 dimensions", 16),
        ("35,594 tokens, 384 dimensions", 8),
        ("54,142 tokens, 272 dimensions", 8),
    )
)
CHANNEL = (
    *(f"768 dimensions, weight {weight}" for weight in (0.3, 0.5, 0.8, 1.2)),
    *(f"768 dimensions, weights {both}" for both in ("0.3 and 1.2", "0.5 and 1.2", "0.8 and 1.2", "0.5 and 2")),
    *(f"{dimension} dimensions, weights 0.5 and 1.2" for dimension in ("256", "2,048")),
)
VARIANTS = (
    *(f"squashed, factor {factor}" for factor in (0.3, 0.6, 1)),
    *(f"without the first {number}" for number in (1, 3, 7)),
    *(f"{bits} bits" for bits in (3, 4, 5, 6)),
)

TABLES: dict[str, Callable[[], list[str]]] = {
    "levers text": partial(levers, TEXT, RATED),
    "levers vocabulary": partial(levers, VOCABULARY, RATED),
    "levers heads": partial(levers, HEADS, RATED),
    "levers search": partial(levers, CHANNELS, RATED | SEARCH),
    "levers test": test_splits,
    "levers equal-bytes": partial(by_kind, f"{EQUAL}-differences", "16 MB, less the former release", EQUAL_BYTES),
    "levers variants": partial(by_kind, "variants-differences", "changed after training, less released", VARIANTS),
    "levers lexical-channel": partial(by_kind, "lexical-channel-differences", "channel, less none", CHANNEL),
    "levers lexical-recommended": lambda: [
        *rows_of(results("levers/lexical-recommended"), "text", 1, False),
        "",
        source("levers/lexical-recommended"),
    ],
}
