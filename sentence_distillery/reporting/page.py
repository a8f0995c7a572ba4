"""Stage `report`: reports/index.html, the page that a person reads; one file that needs nothing else."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sentence_distillery.evaluation.results import EXAMPLES, FOCUS, as_row, read_results
from sentence_distillery.evaluation.seed_spread import over_seeds
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.papers.paper1 import claims, reproduction
from sentence_distillery.papers.paper2 import section as paper_2
from sentence_distillery.papers.paper3 import section as paper_3
from sentence_distillery.reporting import charts, tables
from sentence_distillery.reporting.headline import headline, is_speed, panels, rounded, sentence
from sentence_distillery.reporting.sizes import sizes
from sentence_distillery.reporting.tables import Row
from stages.params import Params
from stages.paths import COUNTERS

PROVENANCE = Path("data/benchmarks/provenance.json")
STUDENT = Path("models/student/config.json")
PAPER_STUDENT = Path("models/paper_student/config.json")
CURVES = Path("reports/curves")
REPORT = Path("reports/index.html")
PARSER = Path("models/syntax/scores.json")
PARAPHRASE = Path("reports/paraphrase.json")
PAIR_COST = Path("reports/pair_cost.json")
CORPUS = Path("reports/corpus.json")
CLEANING = Path("reports/corpus_quality.csv")

SIMCSE = Path("models/simcse/simcse.json")
PRINTED_RATE = 1e-4  # of Algorithm 1
STAGES = (
    "benchmarks",
    "crawl",
    "clean",
    "skipgram",
    "fasttext",
    "refine",
    "repulsion",
    "soft_labels",
    "simcse",
    "student",
    "paper_student",
    "mlp_head",
    "fine_tuned_student",
    "parse",
    "evaluate",
)
SECTIONS = {
    "quality": "Quality against speed",
    "results": "Results",
    "paper": "Paper 1 and this run",
    "paper2": "Paper 2 and this run",
    "paper3": "Paper 3 and this run",
    "syntax": "Dependency trees",
    "training": "Training",
    "corpus": "The corpus",
    "benchmarks": "Benchmarks",
    "samples": "Samples",
    "reading": "How to read this",
}
CURVE_TITLES = {  # column -> title, factor
    "mean_kl": ("Mean KL divergence", 1.0),
    "related_kl": ("Mean KL divergence of related sentences", 1.0),
    "displacement": ("Movement of the vectors, %", 100.0),
    "loss": ("Loss", 1.0),
    "cosine": ("Cosine loss", 1.0),
    "relational": ("Relational loss", 1.0),
    "dev_pearson": ("Pearson ×100, development pairs", 100.0),
    "dev_spearman": ("Spearman ×100, development pairs", 100.0),
    "dev_mae": ("MAE, development pairs", 1.0),
}


def read_curve(name: str) -> dict[str, list[float]]:
    """The columns of a training curve; raises InputError where it is missing, empty or no table of numbers."""
    path = CURVES / f"{name}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [{column: float(value) for column, value in row.items()} for row in csv.DictReader(file)]
        return {column: [row[column] for row in rows] for column in rows[0]}
    except (OSError, TypeError, ValueError, IndexError) as error:
        reason = "it has no rows" if isinstance(error, IndexError) else str(error)
        raise InputError(f"{path} cannot be read: {reason}. Run `dvc repro {name}`.") from error


def training(columns: Mapping[str, list[float]]) -> list[charts.Curve]:
    """A chart for each column after the first, which counts."""
    (x_label, xs), *others = columns.items()
    curves = []
    for name, values in others:
        title, factor = CURVE_TITLES.get(name, (name.replace("_", " "), 1.0))
        curves.append(charts.curve(title, x_label, xs, [value * factor for value in values]))
    return curves


def repulsion() -> list[charts.Curve]:
    """Spearman over the iterations of Algorithm 1, a chart for each learning rate; none where nothing was measured."""
    if not read_json(COUNTERS / "repulsion.json")["kept"]:
        return []
    columns = read_curve("repulsion")
    points = list(zip(*(columns[name] for name in ("learning_rate", "iteration", "spearman")), strict=True))
    found = {rate: [(step, value * 100) for own, step, value in points if own == rate] for rate, _, _ in points}
    return [
        charts.curve(f"Spearman ×100, learning rate {rate:g}", "iteration", *map(list, zip(*course, strict=True)))
        for rate, course in found.items()
    ]


def results(rows: list[Row], sets: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the page: every row of results.csv is in one of them, speed in the first section's."""
    scored = [row for row in rows if not is_speed(row)]
    samples = [row for row in scored if row["dataset"].split("_")[0] == "samples"]
    others = [row for row in scored if row not in samples]
    words = [row for row in others if sets.get(row["dataset"], {}).get("kind") == "words"]
    sentences = [row for row in others if row not in words]
    return {
        "test": tables.result_tables([row for row in sentences if row["split"] != "dev"], sets),
        "dev": tables.result_tables([row for row in sentences if row["split"] == "dev"], sets),
        "words": tables.word_table(words, sets) if words else None,
        "samples": tables.result_tables(samples, sets),
    }


def spread(rows: list[Row], seeds: list[int]) -> tables.Table | None:
    """Means over seeds and their standard deviations, one group of columns for each set; None without other seeds."""
    means = [as_row(result) for result in over_seeds(rows, seeds) if result.dataset.split("_")[0] != "samples"]
    if not means:
        return None
    size = f"mean of the vectors; mean and standard deviation over {len(seeds) + 1} seeds"
    return tables.build([tables.Block("", means)], "dataset", "Other seeds", size)


def refinement(as_printed: bool) -> claims.Refinement:
    """What the claims need of refinement: how Algorithm 1 fared at the printed rate, where that was measured."""
    counted = read_json(COUNTERS / "repulsion.json")
    if not counted["kept"]:
        return claims.Refinement(as_printed, {}, "")
    columns = read_curve("repulsion")
    points = zip(*(columns[name] for name in ("learning_rate", "iteration", "spearman")), strict=True)
    course = {step: value for rate, step, value in points if math.isclose(rate, PRINTED_RATE)}
    return claims.Refinement(as_printed, course, counted["details"]["benchmark"])


def paper(rows: list[Row], sets: Mapping[str, Any], found: claims.Refinement) -> dict[str, Any]:
    """Paper 1's claims, tables and figures."""
    examples = read_json(EXAMPLES)
    return {
        "claims": claims.claims(rows, examples, found),
        "tables": reproduction.tables(rows, sets),
        "examples": [reproduction.table_1(examples), reproduction.table_2(examples)],
        "heat_maps": reproduction.heat_maps(examples),
    }


def overlaps(sets: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, int]]]:
    """(set/split, set/split, counts), each two once."""
    found: dict[frozenset[str], tuple[str, str, Mapping[str, int]]] = {}
    for name, entry in sets.items():
        for split, others in entry["overlaps"].items():
            for other, counts in others.items():
                found.setdefault(frozenset((f"{name}/{split}", other)), (f"{name}/{split}", other, counts))
    return list(found.values())


def documents(details: Mapping[str, Any]) -> dict[str, Any]:
    """What became of the documents, as the clean stage counts them: kept, and dropped by reason."""
    prefix = "documents dropped: "
    dropped = {key.removeprefix(prefix): value for key, value in details.items() if key.startswith(prefix)}
    return {"kept": details.get("documents kept", 0), "dropped": dropped}


def growth(points: list[list[int]]) -> charts.Curve | None:
    """The distinct words over the running words; None for a corpus of too few words for a curve."""
    if len(points) < 3:
        return None
    unit, name = (1e6, "million words") if points[-1][0] >= 1e6 else (1e3, "thousand words")
    words, distinct = zip(*points, strict=True)
    xs = [round(count / unit, 1) for count in words]
    return charts.curve("Growth of the vocabulary: distinct words", name, xs, distinct)


def cleaning() -> list[dict[str, str]]:
    """How well sentences and boilerplate are found; raises InputError where the table is missing."""
    try:
        with CLEANING.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"{CLEANING} cannot be read: {error}. Restore it with `git checkout {CLEANING}`.") from error


def context(params: Params) -> dict[str, Any]:
    """All that the templates need, from the files that dvc.yaml lists."""
    provenance = read_json(PROVENANCE)
    rows: list[Row] = [*read_results()]
    figures = headline(rows, provenance["sets"])
    counters = {name: read_json(COUNTERS / f"{name}.json") for name in STAGES}
    curves = {name: read_curve(name) for name in ("refine", "student")}
    about = read_json(FOCUS.with_suffix(".json"))
    corpus = read_json(CORPUS)
    return {
        "profile": params.profile,
        "student": read_json(STUDENT),
        "figures": figures,
        "speeds": {row["system"]: (tables.figure(row), int(row["n"])) for row in rows if is_speed(row)},
        "systems": tables.unique([*figures.systems, *(row["system"] for row in rows if is_speed(row))]),
        "sentence": sentence(figures),
        "panels": panels(figures),
        "results": results(rows, provenance["sets"]),
        "paper": paper(rows, provenance["sets"], refinement("related_kl" not in curves["refine"])),
        "paraphrase": paper_2.context(read_json(PARAPHRASE), read_json(PAIR_COST)),
        "focus": paper_3.context(read_results(FOCUS), about),
        "trees": paper_3.drawings(about),
        "parser": read_json(PARSER),
        "simcse": read_json(SIMCSE),
        "paper_student": read_json(PAPER_STUDENT),
        "spread": spread(rows, params.seeds.values),
        "pareto": sizes(),
        "curves": curves,
        "training": {name: training(curve) for name, curve in curves.items()},
        "repulsion": repulsion(),
        "counters": counters,
        "corpus": corpus,
        "growth": growth(corpus["growth"]),
        "cleaning": cleaning(),
        "documents": documents(counters["clean"]["details"]),
        "sets": provenance["sets"],
        "absent": provenance["absent"],
        "overlaps": overlaps(provenance["sets"]),
    }


def environment() -> Environment:
    """The templates; an undefined name in one is an error."""
    templates = Environment(
        loader=PackageLoader("sentence_distillery.reporting"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"rounded": rounded, "label": tables.label}
    return templates


def render(values: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    """The whole page."""
    return environment().get_template("report.html").render(values, sections=sections)
