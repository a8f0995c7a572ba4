"""The page for readers: one HTML file that needs nothing else.

A page is a header and sections. `render` makes the page on a run from the run's outputs: its figures, training, corpus
and benchmarks. A paper's reproduction makes its sections with `rendered`, and `paper_page` composes them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sentence_distillery.evaluation.results import Result, is_speed, over_seeds
from sentence_distillery.io.artifacts import finite, given, read_rows, unreadable
from sentence_distillery.reporting import charts, tables
from sentence_distillery.reporting.domain import domain_section
from sentence_distillery.reporting.headline import Draws, headline, opening, panels, rounded, sentence
from sentence_distillery.reporting.sizes import kept_speed, sizes

PACKAGE = "sentence_distillery.reporting"
SECTIONS = {
    "reading": "How to read this",
    "domain": "Quality on your text",
    "quality": "Quality, speed and size",
    "results": "Results",
    "training": "Training",
    "corpus": "The corpus",
    "benchmarks": "Benchmarks",
    "samples": "Samples",
}
CURVE_TITLES = {  # column -> title, factor
    "mean_kl": ("Mean KL divergence", 1.0),
    "related_kl": ("Mean KL divergence of related sentences", 1.0),
    "displacement": ("Movement of the vectors, %", 100.0),
    "loss": ("Loss", 1.0),
    "cosine": ("Cosine loss", 1.0),
    "relational": ("Relational loss", 1.0),
    "dev_pearson": ("Pearson ×100, validation pairs", 100.0),
    "dev_spearman": ("Spearman ×100, validation pairs", 100.0),
    "dev_mae": ("MAE, validation pairs", 1.0),
}

BYTES = {"float32": 4, "float16": 2, "int8": 1}  # of a number of the table

Readers = dict[str, Callable[[str], object]]  # of the columns of a table
TRIALS: Readers = {"tokens": int, "dimension": str, "precision": str, "megabytes": finite, "recall_at_10": finite}
CLEANING: Readers = dict.fromkeys(("task", "set", "system", "note"), str)
CLEANING |= dict.fromkeys(("precision", "recall", "f1", "n"), given)

Columns = Mapping[str, list[float]]  # of a training curve


@dataclass(frozen=True)
class Section:
    """A section of the page: its anchor, its title, and its content as HTML."""

    key: str
    title: str
    content: Markup


@dataclass(frozen=True)
class RunReport:
    """The outputs of a run, as far as the page's own sections show them.

    `rows` are the figures of results.csv, `domain` those of domain.csv, `seeds` those of each other seed; `counters` is
    {stage: its counters} in the order of the stages; `curves` has student; `student` is its config.json, `provenance`
    that of the benchmark sets; `systems` says the description of each system, by its name; `pareto`, `cleaning` and
    `trials` (of students of a size) are rows of their tables; `draws` is draws.json.
    """

    profile: str
    rows: Sequence[Result]
    domain: Sequence[Result]
    seeds: Sequence[Sequence[Result]]
    counters: Mapping[str, Any]
    curves: Mapping[str, Columns]
    student: Mapping[str, Any]
    provenance: Mapping[str, Any]
    systems: Mapping[str, str]
    corpus: Mapping[str, Any]
    pareto: Sequence[Mapping[str, str]]
    cleaning: Sequence[Mapping[str, str]]
    trials: Sequence[Mapping[str, str]] = ()
    draws: Draws = field(default_factory=dict)


def read_curve(path: Path) -> dict[str, list[float]]:
    """Read the columns of a training curve; raises InputError if it is missing, empty or not a table of numbers."""
    rows = read_rows(path, {})
    if not rows:
        raise unreadable(path, "it has no rows, and a training curve has one for each epoch")
    rows = read_rows(path, dict.fromkeys(rows[0], finite))
    return {column: [float(row[column]) for row in rows] for column in rows[0]}


def read_trials(path: Path) -> list[dict[str, str]]:
    """Read the students that were tried for a size; raises InputError if the table is missing or lacks a column."""
    return read_rows(path, TRIALS)


def read_cleaning(path: Path) -> list[dict[str, str]]:
    """Read the scores of finding sentences and boilerplate; raises InputError if the table is missing or wrong."""
    return read_rows(path, CLEANING)


def training(columns: Columns) -> list[charts.Curve]:
    """Draw a chart for each column after the first, which counts."""
    (x_label, xs), *others = columns.items()
    curves = []
    for name, values in others:
        title, factor = CURVE_TITLES.get(name, (name.replace("_", " "), 1.0))
        curves.append(charts.curve(title, x_label, xs, [value * factor for value in values]))
    return curves


def results(rows: Sequence[Result], sets: Mapping[str, Any]) -> dict[str, Any]:
    """Make the tables of the page: every row of results.csv is in one of them, speed in the first section's."""
    scored = [row for row in rows if not is_speed(row)]
    samples = [row for row in scored if row.dataset.split("_")[0] == "samples"]
    others = [row for row in scored if row not in samples]
    words = [row for row in others if sets.get(row.dataset, {}).get("kind") == "words"]
    sentences = [row for row in others if row not in words]

    # Figures on the samples are a demonstration, so they have a section of their own.
    return {
        "test": tables.result_tables([row for row in sentences if row.split != "dev"], sets),
        "dev": tables.result_tables([row for row in sentences if row.split == "dev"], sets),
        "words": tables.word_table(words, sets) if words else None,
        "samples": tables.result_tables(samples, sets),
    }


def spread(rows: Sequence[Result], seeds: Sequence[Sequence[Result]]) -> tables.Table | None:
    """Make a table of means over seeds and their standard deviations, a group of columns for each set.

    None without other seeds.
    """
    means = [result for result in over_seeds(rows, seeds) if result.dataset.split("_")[0] != "samples"]
    if not means:
        return None
    size = f"mean of the vectors; mean and standard deviation over {len(seeds) + 1} seeds"
    return tables.build([tables.Block("", means)], "dataset", "Other seeds", size)


def overlaps(sets: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, int]]]:
    """List the overlaps of splits as (set/split, set/split, counts), each pair once."""
    shared: dict[frozenset[str], tuple[str, str, Mapping[str, int]]] = {}
    for name, entry in sets.items():
        for split, others in entry["overlaps"].items():
            for other, counts in others.items():
                shared.setdefault(frozenset((f"{name}/{split}", other)), (f"{name}/{split}", other, counts))
    return list(shared.values())


def documents(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document counts of the clean stage: kept, and dropped by reason."""
    prefix = "documents dropped: "
    dropped = {key.removeprefix(prefix): value for key, value in details.items() if key.startswith(prefix)}
    return {"kept": details.get("documents kept", 0), "dropped": dropped}


def growth(points: list[list[int]]) -> charts.Curve | None:
    """Draw the distinct words over the running words; None for a corpus of too few words for a curve."""
    if len(points) < 3:
        return None
    unit, name = (1e6, "million words") if points[-1][0] >= 1e6 else (1e3, "thousand words")
    words, distinct = zip(*points, strict=True)
    xs = [round(count / unit, 1) for count in words]
    return charts.curve("Growth of the vocabulary: distinct words", name, xs, distinct)


def context(run: RunReport) -> dict[str, Any]:
    """Compute the content of the header and of the page's own sections."""
    sets = run.provenance["sets"]
    figures = headline(run.rows, sets, run.draws)
    domain = domain_section(run.domain, run.seeds, run.trials)

    # The templates compute nothing: what they show is made here.
    return {
        "profile": run.profile,
        "student": run.student,
        "megabytes": megabytes(run.student),
        "kept_speed": kept_speed(run.pareto, run.student["dimension"]),
        "domain": domain,
        "figures": figures,
        "speeds": speeds(run.rows),
        "systems": tables.unique([*figures.systems, *(row.system for row in run.rows if is_speed(row))]),
        "sentence": opening(figures, domain.found),
        "by_ratings": sentence(figures),
        "panels": panels(figures),
        "results": results(run.rows, sets),
        "spread": spread(run.rows, run.seeds),
        "pareto": sizes(run.pareto),
        "curves": run.curves,
        "training": {"student": training(run.curves["student"])},
        "counters": run.counters,
        "descriptions": run.systems,
        "corpus": run.corpus,
        "growth": growth(run.corpus["growth"]),
        "cleaning": run.cleaning,
        "documents": documents(run.counters["clean"]["details"]),
        "sets": sets,
        "absent": run.provenance["absent"],
        "overlaps": overlaps(sets),
    }


def megabytes(student: Mapping[str, Any]) -> float | None:
    """Return the size of a student's table of token vectors, None for an unknown type of numbers."""
    size = BYTES.get(student.get("embedding_dtype", "float32"))
    return None if size is None else student["vocabulary"] * student["token_dimension"] * size / 1e6


def speeds(rows: Sequence[Result]) -> dict[str, tuple[tables.Figure, int]]:
    """Return the speed of each system that was timed, and the number of sentences behind it."""
    return {row.system: (tables.figure(row), row.n) for row in rows if is_speed(row)}


@cache  # it keeps its compiled templates, and all sections of a page share the macros
def environment(*packages: str) -> Environment:
    """Return the templates of this package and of others; a name that a template lacks is an error."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (PACKAGE, *packages)]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"rounded": rounded, "label": tables.label, "metric": lambda name: tables.metric(name).label}
    return templates


def rendered(template: str, values: Mapping[str, Any], *packages: str) -> Markup:
    """Render a template of this package or of one of `packages`, which have a folder `templates`."""
    return Markup(environment(*packages).get_template(template).render(values))


@dataclass(frozen=True)
class Link:
    """A link to a page next to this one."""

    address: str
    title: str
    citation: str


def render(run: RunReport, papers: Sequence[Link]) -> tuple[str, list[Section]]:
    """Compose the page on a run as HTML, with links to those of papers; return its sections, too, in their order.

    The section of the sample pairs is there only if the run has figures on them.
    """
    values = context(run)
    shown = [name for name in SECTIONS if name != "samples" or values["results"]["samples"]]
    sections = [Section(name, SECTIONS[name], rendered(f"sections/{name}.html", values)) for name in shown]
    return str(rendered("report.html", {**values, "sections": sections, "papers": papers})), sections
