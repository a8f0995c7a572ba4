"""The tables of reproductions/docs/levers.md: what each part of the recipe adds, and what was tried beside it."""

from collections.abc import Callable, Sequence
from functools import partial

from reproductions.docs.tables.cells import NONE, bounded, figure, grid, points, shown
from reproductions.docs.tables.rows import matching, results, source
from sentence_distillery.evaluation.results import Result

ABLATIONS = "ablations"
SETS = {"stsb": "STS-B dev", "sick": "SICK trial", "scifact": "SciFact train", "nfcorpus": "NFCorpus dev"}


def ablations() -> list[str]:
    """The base, and what each row of the ablations differs from it, with the spread over seeds and the interval."""
    base = [_seeds(only) for name in SETS for only in matching(f"{ABLATIONS}/dev", system="base", dataset=name)]
    rows = {(row.system.removesuffix(" - base"), row.dataset): row for row in results(f"{ABLATIONS}/differences")}
    systems = dict.fromkeys(system for system, _ in rows)
    cells = [[system, *(_seeds(rows[system, name], bounded) for name in SETS)] for system in systems]
    return [*grid(["less the base", *SETS.values()], [["base", *base], *cells]), "", source(f"{ABLATIONS}/differences")]


def on_test() -> list[str]:
    """Every row of the ablations on the test splits, scored once."""
    rows = {(row.system, row.dataset): row for row in results(f"{ABLATIONS}/test")}
    cells = [[system, *(_seeds(rows[system, name]) for name in SETS)] for system in dict.fromkeys(s for s, _ in rows)]
    titles = ("STS-B test", "SICK-R test", "SciFact test", "NFCorpus test")
    return [*grid(["row", *titles], cells), "", source(f"{ABLATIONS}/test")]


def _seeds(row: Result, show: Callable[[Result], str] = lambda row: figure(points(row), 2)) -> str:
    """Show a figure with the spread over its seeds."""
    spread = "" if row.spread is None else f" ± {figure(100 * row.spread, 2)}"
    value, space, interval = show(row).partition(" ")
    return f"{value}{spread}{space and '<br>'}{interval}"


def by_kind(table: str, title: str, chosen: Sequence[str] = ()) -> list[str]:
    """How each student differs from a released one on each kind of task, with the 95 % interval; `chosen` () is all."""
    rows = {(row.system.removesuffix(" - released"), row.dataset): row for row in results(f"levers/{table}")}
    kinds = list(dict.fromkeys(kind for _, kind in rows))
    systems = chosen or list(dict.fromkeys(system for system, _ in rows))
    cells = ([system, *(bounded(rows[system, kind]) for kind in kinds)] for system in systems)
    return [*grid([title, *kinds], cells), "", source(f"levers/{table}")]


def by_protocol(table: str, title: str, columns: dict[tuple[str, str], str]) -> list[str]:
    """A row for each system, a column for each set and protocol."""
    rows = {(row.system, (row.dataset, row.protocol)): row for row in results(f"levers/{table}")}
    systems = dict.fromkeys(system for system, _ in rows)
    cells = (
        [system, *(shown(row) if (row := rows.get((system, place))) else NONE for place in columns)]
        for system in systems
    )
    return [*grid([title, *columns.values()], cells), "", source(f"levers/{table}")]


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
RECOMMENDED = {
    ("labels", "none"): "no channel",
    ("labels", "recommended"): "the recommended weight",
    ("labels", "search"): "weights 0.5 and 1.2",
    ("labels", "best"): "the best of ten weights",
}
CENTRING = {
    (dataset, form): f"{title}, {form}"
    for form in ("as they are", "centred")
    for dataset, title in (("held-out texts", "recall@10"), ("stsb", "STS-B dev"))
}

TABLES: dict[str, Callable[[], list[str]]] = {
    "levers ablations": ablations,
    "levers test": on_test,
    "levers equal-bytes": partial(
        by_kind, "equal-bytes-differences", "16 MB, less the encoder of version 0.2", EQUAL_BYTES
    ),
    "levers continued": partial(by_kind, "continued-differences", "trained further, less the encoder of 2026-11-29"),
    "levers variants": partial(by_kind, "variants-differences", "changed after training, less released"),
    "levers lexical-channel": partial(by_kind, "lexical-channel-differences", "channel, less none", CHANNEL),
    "levers channel-terms": partial(by_kind, "channel-terms-differences", "counts in the channel, too"),
    "levers recommended": partial(by_protocol, "recommended-weights", "text", RECOMMENDED),
    "levers centring": partial(by_protocol, "centring", "mean cosine of the teacher's vectors", CENTRING),
}
