"""The stage `paper_pages`: write a page on each reproduced paper, reports/<key>.html.

Reads the figures of this run's small cells, and the saved figures of longer runs.
"""

from reproductions.pages import paper_page
from reproductions.paper import Outputs
from reproductions.registry import PAPERS
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.artifacts import atomic_file, read_json
from sentence_distillery.reporting.contents import Benchmarks
from sentence_distillery.reporting.page import Link
from stages import paths
from stages.stage import stage

FILES = {
    "paper_student": paths.PAPER_STUDENT / CONFIG,
    "simcse": paths.SIMCSE_ABOUT,
    "examples": paths.EXAMPLES,
    "paper1_gains": paths.PAPER1_GAINS,
    "paper1_runs": paths.PAPER1_RUNS,
    "paraphrase_results": paths.PARAPHRASE_RESULTS,
    "paraphrase": paths.PARAPHRASE_REPORT,
    "paraphrase_runs": paths.PARAPHRASE_RUNS,
    "pair_cost": paths.PAIR_COST,
    "component_results": paths.COMPONENT_RESULTS,
    "component_report": paths.COMPONENT_REPORT,
    "component_runs": paths.COMPONENT_RUNS,
    "parser_scores": paths.PARSER / "scores.json",
}


def main() -> None:
    with stage("paper_pages", unit="pages") as (params, counters):
        sets = read_json(paths.BENCHMARKS / "provenance.json", Benchmarks)["sets"]
        rows = [*read_results(paths.PAPER1_RESULTS), *read_results(paths.ALL_SYSTEMS)]
        seeds = [read_results(paths.SEEDS / f"{seed}.csv") for seed in params.seeds.values]
        outputs = Outputs(rows, seeds, sets, paths.COUNTERS, paths.CURVES, FILES)
        for paper in PAPERS:
            others = [Link(f"{other.key}.html", other.title, other.citation) for other in PAPERS if other is not paper]
            page = paper_page(paper.title, paper.citation, params.name, paper.sections(outputs), others)
            with atomic_file(paths.REPORTS / f"{paper.key}.html") as partial:
                partial.write_text(page, encoding="utf-8")
            counters.keep()


if __name__ == "__main__":
    main()
