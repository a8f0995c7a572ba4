"""Paper 2: paraphrases found by vectors of encoders."""

from sentence_distillery.evaluation.results import read_results
from sentence_distillery.papers.paper import Outputs, Paper
from sentence_distillery.papers.paper2.section import section
from sentence_distillery.reporting.page import Section


def sections(outputs: Outputs) -> list[Section]:
    """Render the matrix of this run and of longer runs, and what comparing costs."""
    rows = read_results(outputs.files["paraphrase_results"])
    about, cost = outputs.json("paraphrase"), outputs.json("pair_cost")
    return [section(rows, about, cost, outputs.files["paraphrase_runs"])]


PAPER = Paper(
    key="paper2",
    title="Paper 2: paraphrase identification with sentence encoders",
    citation=(
        "Taras Shevchenko University, Analysis of Semantic Similarity between Sentences Using Transformer-based Deep "
        "Learning Methods, CEUR Workshop Proceedings"
    ),
    sections=sections,
)
