"""Paper 1: word vectors refined by divergence, and a student that a transformer teaches."""

from sentence_distillery.papers.paper import Outputs, Paper
from sentence_distillery.papers.paper1.gains import read_gains
from sentence_distillery.papers.paper1.kept import read_kept
from sentence_distillery.papers.paper1.published import with_published
from sentence_distillery.papers.paper1.section import (
    PaperStudentRun,
    evidence,
    results_section,
    section,
    training_section,
)
from sentence_distillery.reporting.page import Section, read_curve


def sections(outputs: Outputs) -> list[Section]:
    """Render the claims and tables, and how the systems were trained in this run."""
    counts = outputs.counts("repulsion")
    run = PaperStudentRun(
        student=outputs.json("paper_student"),
        simcse=outputs.json("simcse"),
        curve=read_curve(outputs.curves / "paper_student.csv"),
        refine=read_curve(outputs.curves / "refine.csv"),
        repulsion=read_curve(outputs.curves / "repulsion.csv") if counts["kept"] else {},
        benchmark=counts["details"].get("benchmark", ""),
    )
    rows = [with_published(row) for row in outputs.rows]
    about = evidence(run, outputs.json("examples"), read_gains(outputs.files["paper1_gains"]))
    return [
        section(rows, outputs.sets, about, run, read_kept(outputs.files["paper1_runs"])),
        results_section(rows, outputs.seeds, outputs.sets),
        training_section(run),
    ]


PAPER = Paper(
    key="paper1",
    title="Paper 1: word vectors refined by divergence, and a distilled student",
    citation=(
        "Han and Yang 2024, Sentence Embedding Generation Framework Based on Kullback-Leibler Divergence Optimization "
        "and RoBERTa Knowledge Distillation, Mathematics 12, 3990"
    ),
    sections=sections,
)
