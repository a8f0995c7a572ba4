"""The stage `pair_results`: collect the figures of paper 2's matrix, and save the best bi-encoder.

Reads data/pairs and models/pairs. The best accuracy on the validation split decides. Writes

    models/paraphraser          the winner; winner.json has its name, or null
    reports/paraphrase.csv      every figure, table 4 among them
    reports/paraphrase.json     threshold curves, the order of the strategies, the winner
"""

import shutil

from reproductions.paper2.pairs.about import refuse_damaged
from reproductions.paper2.pairs.data import ABOUT, About, load_pair_data
from reproductions.paper2.results import TestPairs, summarise
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.results import write_results
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("pair_results", unit="cells") as (params, counters):
        data, about = load_pair_data(paths.PAIRS), read_json(paths.PAIRS / ABOUT, About)
        test = TestPairs(about["dataset"], data, bootstrap.counts(len(data.splits["test"])))
        cells = [paths.PARAPHRASE_CELLS, paths.STARTS]
        summary = summarise(cells, paths.COMBINATIONS, params.pair_grid, test, counters)
        with atomic_directory(paths.PARAPHRASER) as directory:
            if summary.winner is not None:
                refuse_damaged(paths.PARAPHRASE_CELLS / summary.winner)
                shutil.copytree(paths.PARAPHRASE_CELLS / summary.winner, directory, dirs_exist_ok=True)
            write_json(directory / "winner.json", {"winner": summary.winner})
        write_results(paths.PARAPHRASE_RESULTS, summary.rows)
        write_json(paths.PARAPHRASE_REPORT, {**about, **summary.content()})


if __name__ == "__main__":
    main()
