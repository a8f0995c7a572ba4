"""The stage `pair_results`: collect the figures of paper 2's matrix, and save the best bi-encoder.

Reads data/pairs and models/pairs. The best accuracy on the validation split decides. Writes

    models/paraphraser          the winner
    reports/paraphrase.csv      every figure, table 4 among them
    reports/paraphrase.json     threshold curves, the order of the strategies, the winner
"""

import shutil

from sentence_distillery.evaluation.results import write_results
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from sentence_distillery.pairs.data import ABOUT, RESULT, load_pair_data
from sentence_distillery.papers.paper2.results import CellDirectories, TestPairs, summarise
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("pair_results", unit="cells") as (params, counters):
        data, about = load_pair_data(paths.PAIRS), read_json(paths.PAIRS / ABOUT)
        related = {name: len(pairs.scores) for name, pairs in data.related.items()}
        test = TestPairs(about["dataset"], data.splits["test"].labels, data.sha256, about["pairs"], related)
        directories = CellDirectories(paths.PARAPHRASE_CELLS, paths.STARTS, paths.COMBINATIONS)
        summary = summarise(directories, params.pair_grid, test, counters)
        with atomic_directory(paths.PARAPHRASER) as directory:
            if summary.winner is not None:
                shutil.copytree(directories.cells / summary.winner, directory, dirs_exist_ok=True)
            write_json(directory / RESULT, {"winner": summary.winner})
        write_results(paths.PARAPHRASE_RESULTS, summary.rows)
        write_json(paths.PARAPHRASE_REPORT, {**about, **summary.content()})


if __name__ == "__main__":
    main()
