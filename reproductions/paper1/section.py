"""The section of the page on paper 1: its claims, tables 1 to 6, figures 2 and 3, and this run's verdicts.

Paper 1 is Han and Yang, Mathematics 2024, 12, 3990.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reproductions.paper1 import claims, reproduction
from reproductions.paper1.gains import Gain
from sentence_distillery.evaluation.results import Result
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.page import Columns, Section, rendered, results, speeds, spread, training
from sentence_distillery.reporting.tables import Block, Table, build

PACKAGE, SHARED = "reproductions.paper1", "reproductions"
PRINTED_RATE = 1e-4  # of Algorithm 1


@dataclass(frozen=True)
class PaperStudentRun:
    """How the systems of paper 1 were trained in this run.

    `student` is the paper student's config.json and `curve` its training; `simcse` says on which data SimCSE was
    fine-tuned; `refine` and `repulsion` are training curves, `repulsion` empty if it was not measured on the pairs of
    `benchmark`.
    """

    student: Mapping[str, Any]
    simcse: Mapping[str, Any]
    curve: Columns
    refine: Columns
    repulsion: Columns
    benchmark: str
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SavedRun:
    """A longer run of the chain, as reports/runs/paper1 keeps it (saved_runs.py), and the ablation."""

    name: str
    comment: str
    rows: Sequence[Result]
    run: PaperStudentRun
    examples: Mapping[str, Any]
    gains: Sequence[Gain]
    ablation: Sequence[Gain]


def refinement(run: PaperStudentRun) -> claims.Refinement:
    """Return the figures of refinement that the claims need: Algorithm 1 at the printed rate, if measured."""
    as_printed = "related_kl" not in run.refine
    if not run.repulsion:
        return claims.Refinement(as_printed, {}, "")
    points = zip(*(run.repulsion[name] for name in ("learning_rate", "iteration", "spearman")), strict=True)
    course = {step: value for rate, step, value in points if math.isclose(rate, PRINTED_RATE)}
    return claims.Refinement(as_printed, course, run.benchmark)


def evidence(
    run: PaperStudentRun, examples: Mapping[str, Any], gains: Sequence[Gain], ablation: Sequence[Gain] = ()
) -> claims.Evidence:
    """Gather the evidence for the claims, besides the table of figures."""
    simcse = {} if run.simcse.get("absent") else {"SimCSE": f"{run.simcse['base']}, tuned without labels,"}
    return claims.Evidence(examples, refinement(run), gains, run.curve, ablation, run.seconds, simcse)


def teachers(student: Mapping[str, Any]) -> str:
    """Name the stand-ins that every figure of MyModel rests on."""
    names = [student["teacher"], *student["teacher"].get("additional", [])]
    return f"MyModel’s teacher, {' and '.join(each['reference'] for each in names)} for RoBERTa"


def section(
    rows: Sequence[Result],
    sets: Mapping[str, Any],
    about: claims.Evidence,
    run: PaperStudentRun,
    saved: Sequence[SavedRun],
    ablation: Sequence[Result],
) -> Section:
    """Render the section.

    Args:
        rows: Those of results.csv.
        sets: The provenance of each benchmark set.
        about: What the claims are judged by.
        run: How the systems were trained.
        saved: Longer runs, with their own claims.
        ablation: The saved figures of the method without each of its parts.

    Returns:
        The section of the page.
    """
    values = {
        "claims": claims.claims(rows, about, teachers(run.student)),
        "kept": [shown(each) for each in saved],
        "ablation": ablation_table(ablation),
        "tables": reproduction.tables(rows, sets),
        "examples": [reproduction.table_1(about.examples), reproduction.table_2(about.examples)],
        "heat_maps": reproduction.heat_maps(about.examples),
    }
    about_run = {"paper": values, "simcse": run.simcse, "paper_student": run.student}
    content = rendered("paper1.html", about_run, PACKAGE, SHARED)
    return Section("paper", "Paper 1 and this run", content)


def shown(saved: SavedRun) -> dict[str, Any]:
    """Return the content of the page for a longer run."""
    about = evidence(saved.run, saved.examples, saved.gains, saved.ablation)
    return {
        "name": saved.name,
        "comment": saved.comment,
        "claims": claims.claims(saved.rows, about, teachers(saved.run.student)),
        "tables": reproduction.tables(saved.rows, {}),
        "examples": [reproduction.table_1(saved.examples), reproduction.table_2(saved.examples)],
        "heat_maps": reproduction.heat_maps(saved.examples),
        "curves": training(saved.run.curve),
    }


def ablation_table(rows: Sequence[Result]) -> Table | None:
    """Show the ablation: each combination under each weighting of the paper, means over the seeds."""
    chosen = [row for row in rows if row.protocol in reproduction.TITLES and row.metric in reproduction.METRICS]
    if not chosen:
        return None
    size = f"STS-B test, {chosen[0].n:,} pairs, mean of {chosen[0].seeds} seeds"
    return build([Block("", chosen)], "protocol", "Neither part of the method, one, or both", size)


def results_section(rows: Sequence[Result], seeds: Sequence[Sequence[Result]], sets: Mapping[str, Any]) -> Section:
    """Render all figures of the run: those of the main job's systems, and of those that the paper compares with."""
    values = {"results": results(rows, sets), "spread": spread(rows, seeds), "speeds": speeds(rows)}
    return Section("results", "All figures of this run", rendered("results.html", values, PACKAGE))


def training_section(run: PaperStudentRun) -> Section:
    """Render how word vectors and MyModel were trained, and the effect of Algorithm 1 at other rates if measured."""
    values = {
        "curves": {"refine": run.refine},
        "refine_charts": training(run.refine),
        "student_charts": training(run.curve),
        "repulsion": repulsion(run.repulsion),
        "benchmark": run.benchmark,
    }
    return Section(
        "word_vectors", "Training of the word vectors and of MyModel", rendered("word_vectors.html", values, PACKAGE)
    )


def repulsion(columns: Columns) -> list[charts.Curve]:
    """Draw Spearman over the iterations of Algorithm 1, a chart for each rate; none if not measured."""
    if not columns:
        return []
    points = list(zip(*(columns[name] for name in ("learning_rate", "iteration", "spearman")), strict=True))
    courses = {rate: [(step, value * 100) for own, step, value in points if own == rate] for rate, _, _ in points}
    return [
        charts.curve(f"Spearman ×100, learning rate {rate:g}", "iteration", *map(list, zip(*course, strict=True)))
        for rate, course in courses.items()
    ]
