"""Articles to sentences: one clean sentence a row, and every dropped one beside it with the reason."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow.parquet as pq

from sentence_distillery.corpus.cleaning import (
    EVALUATION_FINGERPRINTS_FILE,
    PARQUET,
    Spool,
    article_texts,
    count,
    count_articles,
    in_threads,
    shards,
    write_part,
)
from sentence_distillery.corpus.decisions import decide
from sentence_distillery.corpus.documents import examine
from sentence_distillery.corpus.language import shared_model
from sentence_distillery.corpus.overview import Overview, read_origins
from sentence_distillery.corpus.schema import (
    ARTICLES_DIRECTORY,
    DROPPED,
    DROPPED_FILE,
    EVALUATION_FINGERPRINTS,
    OVERVIEW,
    SENTENCES_DIRECTORY,
)
from sentence_distillery.io.artifacts import atomic_directory, read_table, table_parts, write_json
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import map_shards, processes_here
from stages.stage import stage


def main() -> None:
    with stage("clean", unit="sentences") as (params, counters), atomic_directory(SENTENCES_DIRECTORY) as directory:
        clean = params.clean
        parts = table_parts(ARTICLES_DIRECTORY)
        evaluated = read_table(EVALUATION_FINGERPRINTS_FILE, EVALUATION_FINGERPRINTS)["fingerprint"].to_numpy()
        spool = Spool(directory / "spool", clean.shard_documents)
        texts = track(article_texts(parts), count_articles(parts), "articles")
        work = partial(  # without `clean` itself, for which each worker would load pydantic
            examine,
            language=clean.language,
            minimum_tokens=clean.minimum_tokens,
            maximum_tokens=clean.maximum_tokens,
        )
        with ThreadPoolExecutor(1) as beside:
            reading = beside.submit(read_origins, parts)  # while the processes start
            drawn = shards(texts, clean.shard_documents)
            with map_shards(work, drawn, params.shards, prepare=shared_model) as findings:
                spool.fill(findings)
            origins = reading.result()
        threads = processes_here(params.shards)
        decisions = decide(*spool.take(), origins.sources, evaluated, clean, threads)
        count(decisions, spool.removed, counters)
        overview = Overview(origins, decisions, spool.parts)
        write = partial(write_part, spool=spool, decisions=decisions, target=directory, language=clean.language)
        with pq.ParquetWriter(directory / DROPPED_FILE, DROPPED, **PARQUET) as dropped_file:
            for written in in_threads(write, range(spool.parts), threads):
                dropped_file.write_table(written.dropped)
                overview.add(written)
        spool.directory.rmdir()
        write_json(OVERVIEW, overview.summary())


if __name__ == "__main__":
    main()
