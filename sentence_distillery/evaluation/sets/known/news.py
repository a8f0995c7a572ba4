"""News articles to train on; no text of it is scored on."""

from sentence_distillery.evaluation.sets.benchmark import Benchmark, pinned

SET = Benchmark(
    name="news",
    title="News",
    source="news articles of several agencies",
    licence="mixed, research use",
    citation="",
    origin="external",
    pins=pinned(
        ("news.parquet", None, "e631900a1399f223863bbe896177d49a49c49b1bf4bc536ffa78d9f74725b0ab"),
    ),
)
