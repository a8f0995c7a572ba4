"""Paper 2: paraphrases found by vectors of encoders."""

from typing import Literal

from reproductions.paper import Outputs, Paper
from reproductions.paper2.section import section
from reproductions.saved_matrix import Paraphrase
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.contents import Absent, Content, Natural
from sentence_distillery.reporting.page import Section


class System(Content):
    """The cost of comparing all sentences with a system."""

    system: Literal["joined", "alone", "student"]
    runs: Natural


class Cost(Absent):
    """The content of pair_cost.json."""

    encoder: str
    sentences: Natural
    corpus: Natural
    systems: list[System]


def sections(outputs: Outputs) -> list[Section]:
    """Render the matrix of this run and of longer runs, and the cost of comparing."""
    rows = read_results(outputs.files["paraphrase_results"])
    about, cost = outputs.json("paraphrase", Paraphrase), outputs.json("pair_cost", Cost)
    return [section(rows, about, cost, outputs.files["paraphrase_runs"])]


PAPER = Paper(
    key="paper2",
    title="Paper 2: paraphrase identification with sentence encoders",
    citation=(
        "Onyshchenko, Anisimov, Marchenko and Isoieva, Analysis of Semantic Similarity between Sentences Using "
        "Transformer-based Deep Learning Methods, CEUR Workshop Proceedings 3347"
    ),
    sections=sections,
)
