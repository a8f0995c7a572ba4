"""Paper 1: word vectors refined by divergence, and a student that a transformer teaches."""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproductions.paper import Outputs, Paper
from reproductions.paper1.gains import read_gains
from reproductions.paper1.published import TABLE_1, TABLE_2, with_published
from reproductions.paper1.saved_runs import read_ablation, read_saved, seconds_of
from reproductions.paper1.section import PaperStudentRun, evidence, results_section, section, training_section
from sentence_distillery.io.contents import Absent, Content, Cosine, Natural, StudentConfig
from sentence_distillery.reporting.page import Section, read_curve

PAIRS = len(TABLE_1) + len(TABLE_2)


class PaperStudent(StudentConfig):
    """The config.json of the paper's student."""

    refined: str


class Simcse(Absent):
    """The content of simcse.json."""

    objective: str
    base: str
    examples: Natural | None = None


class Words(Content):
    """The cosines of the words of one sentence (rows) with those of another (columns); null without a vector."""

    rows: list[str]
    columns: list[str]
    cosines: list[list[Cosine | None]]

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        if [len(line) for line in self.cosines] != [len(self.columns)] * len(self.rows):
            raise ValueError("cosines does not have a line for each row, with a value for each column")
        return self


EachPair = Annotated[list[Words], Field(min_length=len(TABLE_1), max_length=len(TABLE_1))]  # of table 1


class Examples(Content):
    """The content of examples.json: the cosines of the paper's pairs by system, and of their words."""

    cosines: dict[str, Annotated[list[Cosine | None], Field(min_length=PAIRS, max_length=PAIRS)]]
    words: dict[Literal["skip-gram", "refined"], EachPair]


def sections(outputs: Outputs) -> list[Section]:
    """Render the claims and tables, and how the systems were trained in this run."""
    counts = outputs.counts("repulsion")
    run = PaperStudentRun(
        student=outputs.json("paper_student", PaperStudent),
        simcse=outputs.json("simcse", Simcse),
        curve=read_curve(outputs.curves / "paper_student.csv"),
        refine=read_curve(outputs.curves / "refine.csv"),
        repulsion=read_curve(outputs.curves / "repulsion.csv") if counts["kept"] else {},
        benchmark=counts["details"].get("benchmark", ""),
    )
    rows = [with_published(row) for row in outputs.rows]
    ablation, figures = read_ablation(outputs.files["paper1_runs"])
    run = replace(run, seconds=seconds_of(figures))
    about = evidence(run, outputs.json("examples", Examples), read_gains(outputs.files["paper1_gains"]), ablation)
    return [
        section(rows, outputs.sets, about, run, read_saved(outputs.files["paper1_runs"]), figures),
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
