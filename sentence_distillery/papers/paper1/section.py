"""The section of the page on paper 1: its claims, tables 1 to 6, figures 2 and 3, and this run's verdicts.

Paper 1 is Han and Yang, Mathematics 2024, 12, 3990.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentence_distillery.evaluation.results import Result
from sentence_distillery.papers.paper1 import claims, reproduction
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.page import Columns, Section, rendered, results, speeds, spread, training

PACKAGE = "sentence_distillery.papers.paper1"
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


def refinement(run: PaperStudentRun) -> claims.Refinement:
    """Return the figures of refinement that the claims need: Algorithm 1 at the printed rate, if measured."""
    as_printed = "related_kl" not in run.refine
    if not run.repulsion:
        return claims.Refinement(as_printed, {}, "")
    points = zip(*(run.repulsion[name] for name in ("learning_rate", "iteration", "spearman")), strict=True)
    course = {step: value for rate, step, value in points if math.isclose(rate, PRINTED_RATE)}
    return claims.Refinement(as_printed, course, run.benchmark)


def section(
    rows: Sequence[Result], sets: Mapping[str, Any], examples: Mapping[str, Any], run: PaperStudentRun
) -> Section:
    """Render the section.

    Args:
        rows: Those of results.csv.
        sets: The provenance of each benchmark set.
        examples: The cosines of the paper's example pairs, as `Examples.content` gives them.
        run: How the systems were trained.

    Returns:
        The section of the page.
    """
    values = {
        "claims": claims.claims(rows, examples, refinement(run)),
        "tables": reproduction.tables(rows, sets),
        "examples": [reproduction.table_1(examples), reproduction.table_2(examples)],
        "heat_maps": reproduction.heat_maps(examples),
    }
    content = rendered("paper1.html", {"paper": values, "simcse": run.simcse, "paper_student": run.student}, PACKAGE)
    return Section("paper", "Paper 1 and this run", content)


def results_section(rows: Sequence[Result], seeds: Sequence[Sequence[Result]], sets: Mapping[str, Any]) -> Section:
    """Render all figures of the run: those of the main job's systems, and of those that the paper compares with."""
    values = {"results": results(rows, sets), "spread": spread(rows, seeds), "speeds": speeds(rows)}
    return Section("results", "All figures of this run", rendered("results.html", values, PACKAGE))


def training_section(run: PaperStudentRun) -> Section:
    """Render how word vectors and MyModel were trained, and what Algorithm 1 does at other rates if measured."""
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
