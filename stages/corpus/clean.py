"""The stage `clean`: split articles into clean sentences, and keep every dropped sentence with the reason.

Reads data/corpus/articles and the fingerprints of the texts of evaluation sets. Applies the rules of
`sentence_distillery.corpus.decisions` with the thresholds of section `clean`, and holds out documents as section
`held_out` says, or those of a fixed pool. Writes data/corpus/sentences (part-*.parquet, held_out.parquet and
dropped.parquet) and reports/corpus.json, the report's overview of the corpus.
"""

from pathlib import Path

from sentence_distillery.corpus import cleaning
from sentence_distillery.corpus.held_out import read_pool
from sentence_distillery.corpus.schema import EVALUATION_FINGERPRINTS
from sentence_distillery.io.artifacts import read_table, write_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("clean", unit="sentences", largest="shards.processes and clean.shard_documents") as (params, counters):
        evaluated = read_table(paths.EVALUATION_FINGERPRINTS, EVALUATION_FINGERPRINTS)["fingerprint"].to_numpy()
        held_out = params.held_out
        pool = None if Path(held_out.pool) == paths.NO_POOL else read_pool(Path(held_out.pool))
        overview = cleaning.clean(
            paths.ARTICLES, paths.SENTENCES, params.clean, evaluated, params.shards, counters, held_out, pool
        )
        write_json(paths.CORPUS_OVERVIEW, overview)


if __name__ == "__main__":
    main()
