"""Paper 3: the subject, predicate and object of a sentence, encoded once more next to it."""

from typing import Literal, Self

from pydantic import model_validator

from reproductions.paper import Outputs, Paper
from reproductions.paper3.section import Speeds, section, tree_section
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.contents import Content, Natural, Percent
from sentence_distillery.reporting.page import Section, speeds

ParserScores = dict[Literal["dev", "test"], dict[str, Percent]]  # by split and metric


class Sentence(Content):
    """A sentence with its tree."""

    text: str
    tokens: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    heads: list[Natural]
    relations: list[str]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        lengths = {len(each) for each in (self.lemmas, self.upos, self.xpos, self.heads, self.relations)}
        if lengths != {len(self.tokens)} or any(head > len(self.tokens) for head in self.heads):
            raise ValueError(f"the tree of {self.text[:40]!r} has lists of several lengths, or a head outside of it")
        return self


class Weights(Content):
    """Learnt weights of a component."""

    encoder: str
    task: str
    kind: Literal["one", "roles", "tags", "gate"]
    step: Natural
    weights: dict[str, float]


class Grid(Content):
    """The content of component_focus.json."""

    trees: list[Sentence]
    learnt: list[Weights]
    draws: Natural
    epochs: Natural
    seeds: list[Natural]


def sections(outputs: Outputs) -> list[Section]:
    """Render the grid of this run and of longer runs, and the dependency trees."""
    grid, parsed = outputs.json("component_report", Grid), outputs.counts("parse")
    timed = speeds(outputs.rows).get("student")
    speed = Speeds(timed[0].text if timed else None, None)
    cells = read_results(outputs.files["component_results"])
    return [
        section(cells, grid, speed, outputs.files["component_runs"]),
        tree_section(grid, parsed, outputs.json("parser_scores", ParserScores)),
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
