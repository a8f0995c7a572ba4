"""Paper 3: the subject, predicate and object of a sentence, encoded once more next to it."""

from sentence_distillery.evaluation.results import read_results
from sentence_distillery.papers.paper import Outputs, Paper
from sentence_distillery.papers.paper3.section import Speeds, section, tree_section
from sentence_distillery.reporting.page import Section, speeds


def sections(outputs: Outputs) -> list[Section]:
    """Render the grid of this run and of longer runs, and the dependency trees."""
    grid, parsed = outputs.json("component_report"), outputs.counts("parse")
    timed = speeds(outputs.rows).get("student")
    speed = Speeds(timed[0].text if timed else None, parsed["details"]["sentences a second"])
    cells = read_results(outputs.files["component_results"])
    return [
        section(cells, grid, speed, outputs.files["component_runs"]),
        tree_section(grid, parsed, outputs.json("parser_scores")),
    ]


PAPER = Paper(
    key="paper3",
    title="Paper 3: sentence components next to the sentence",
    citation=(
        "Yin, Zhang, Zhu, Liu and Yao 2020, Improving Sentence Representations via Component Focusing, "
        "Applied Sciences 10, 958"
    ),
    sections=sections,
)
