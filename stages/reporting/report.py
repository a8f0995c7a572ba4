"""The stage `report`: write reports/index.html, a page for readers in one file that loads no other.

Reads the figures, counters and training curve of the main job, from the corpus to the evaluation. The pages of
reproduced papers, to which it links, are those of the stage `paper_pages`.
"""

from reproductions.registry import PAPERS
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.artifacts import atomic_file, read_json
from sentence_distillery.io.contents import Content, Counted, StudentConfig
from sentence_distillery.reporting.contents import Benchmarks, CorpusOverview
from sentence_distillery.reporting.page import Link, RunReport, read_cleaning, read_curve, read_trials, render
from sentence_distillery.reporting.sizes import read_pareto
from stages import paths
from stages.params import Params
from stages.stage import stage

PROVENANCE = paths.BENCHMARKS / "provenance.json"
STAGES = ("benchmarks", "crawl", "clean", "soft_labels", "student", "evaluate", "domain")


class Development(Content):
    """The part of the student's counters that the page shows."""

    development: str


class StudentCounted(Counted):
    """The counters of the stage `student`."""

    details: Development  # type: ignore[assignment]


COUNTED: dict[str, type[Counted]] = {"student": StudentCounted}


def read_run(params: Params) -> RunReport:
    """Read the outputs of the run."""
    return RunReport(
        profile=params.name,
        rows=read_results(paths.RESULTS),
        domain=read_results(paths.DOMAIN),
        seeds=[read_results(paths.SEEDS / f"{seed}.csv") for seed in params.seeds.values],
        counters={name: read_json(paths.COUNTERS / f"{name}.json", COUNTED.get(name, Counted)) for name in STAGES},
        curves={"student": read_curve(paths.CURVES / "student.csv")},
        student=read_json(paths.STUDENT / CONFIG, StudentConfig),
        provenance=read_json(PROVENANCE, Benchmarks),
        systems=read_json(paths.SYSTEMS, dict[str, str]),
        corpus=read_json(paths.CORPUS_OVERVIEW, CorpusOverview),
        pareto=read_pareto(paths.PARETO),
        cleaning=read_cleaning(paths.CORPUS_QUALITY),
        trials=read_trials(paths.CURVES / "student_size.csv"),
        draws=read_json(paths.DRAWS, dict[str, list[float | None]]),
    )


def main() -> None:
    with stage("report", unit="sections") as (params, counters):
        links = [Link(f"{paper.key}.html", paper.title, paper.citation) for paper in PAPERS]
        page, sections = render(read_run(params), links)
        if not any(section.key == "samples" for section in sections):
            counters.drop("no figures on the samples")
        counters.keep(len(sections))
        with atomic_file(paths.PAGE) as partial:
            partial.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
