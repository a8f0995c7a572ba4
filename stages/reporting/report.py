"""The stage `report`: write reports/index.html, a page for readers in one file that loads no other.

Reads the figures, counters and training curves of the other stages, and the kept figures of longer runs.
"""

from collections.abc import Mapping
from typing import Any

from sentence_distillery.encoder.files import CONFIG
from sentence_distillery.evaluation.aliases import current_content
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.artifacts import atomic_file, read_json
from sentence_distillery.papers.paper1 import section as paper_1
from sentence_distillery.papers.paper2 import section as paper_2
from sentence_distillery.papers.paper3 import section as paper_3
from sentence_distillery.reporting.page import RunReport, Section, read_cleaning, read_curve, render, speeds
from sentence_distillery.reporting.sizes import read_pareto
from stages import paths
from stages.params import Params
from stages.stage import stage

PROVENANCE = paths.BENCHMARKS / "provenance.json"
SIMCSE = paths.SIMCSE / "simcse.json"
PARSER_SCORES = paths.PARSER / "scores.json"
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


def read_run(params: Params) -> RunReport:
    """Read the outputs of the run."""
    counters = {name: read_json(paths.COUNTERS / f"{name}.json") for name in STAGES}
    curves = {name: read_curve(paths.CURVES / f"{name}.csv") for name in ("refine", "student")}
    measured = counters["repulsion"]["kept"]
    return RunReport(
        profile=params.profile,
        rows=read_results(paths.RESULTS),
        seeds=[read_results(paths.SEEDS / f"{seed}.csv") for seed in params.seeds.values],
        counters=counters,
        curves=curves | {"repulsion": read_curve(paths.CURVES / "repulsion.csv") if measured else {}},
        student=current_content(read_json(paths.STUDENT / CONFIG)),
        provenance=read_json(PROVENANCE),
        corpus=read_json(paths.CORPUS_OVERVIEW),
        pareto=read_pareto(paths.PARETO),
        cleaning=read_cleaning(paths.CORPUS_QUALITY),
    )


def papers(run: RunReport) -> list[Section]:
    """Render the sections of the three papers."""
    student = paper_1.PaperStudentRun(
        student=current_content(read_json(paths.PAPER_STUDENT / CONFIG)),
        simcse=read_json(SIMCSE),
        refine=run.curves["refine"],
        repulsion=run.curves["repulsion"],
        benchmark=run.counters["repulsion"]["details"].get("benchmark", ""),
    )
    examples: Mapping[str, Any] = current_content(read_json(paths.EXAMPLES))
    matrix, cost = read_json(paths.PARAPHRASE_REPORT), read_json(paths.PAIR_COST)
    grid, parsed = read_json(paths.COMPONENT_REPORT), run.counters["parse"]
    timed = speeds(run.rows).get("student")
    speed = paper_3.Speeds(timed[0].text if timed else None, parsed["details"]["sentences a second"])
    return [
        paper_1.section(run.rows, run.provenance["sets"], examples, student),
        paper_2.section(matrix, cost, paths.PARAPHRASE_RUNS),
        paper_3.section(read_results(paths.COMPONENT_RESULTS), grid, speed, paths.COMPONENT_RUNS),
        paper_3.tree_section(grid, parsed, read_json(PARSER_SCORES)),
    ]


def main() -> None:
    with stage("report", unit="sections") as (params, counters):
        run = read_run(params)
        page, sections = render(run, papers(run))
        if not any(section.key == "samples" for section in sections):
            counters.drop("no figures on the samples")
        counters.keep(len(sections))
        with atomic_file(paths.PAGE) as partial:
            partial.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
