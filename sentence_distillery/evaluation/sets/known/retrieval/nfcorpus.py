"""NFCorpus: titles of articles on nutrition, and the medical abstracts that they cite."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Judgement, Passage, Query, records, whole

HOME = f"{GITHUB}/hakimamarullah/medisearch-api/0ae71a4bb2416506dbdd9a5f8894e7830b99f19f/data/nfcorpus"
SPLITS = ("dev", "test")
JUDGED = ("query", "zero", "document", "grade")


def read(directory: Path) -> Iterator[Query | Passage | Judgement]:
    """Read tab-separated queries, documents and judgements, grade 3 for a direct citation, 2 and 1 for farther ones."""
    for split in SPLITS:
        for place, row in records(directory / f"{split}.titles.queries", ("id", "text"), "\t", header=False):
            yield Query(place, split, row["id"], row["text"])
        for place, row in records(directory / f"{split}.docs", ("id", "text"), "\t", header=False):
            yield Passage(place, split, row["id"], row["text"])
        for place, row in records(directory / f"{split}.3-2-1.qrel", JUDGED, "\t", header=False):
            yield Judgement(place, split, row["query"], row["document"], whole(row["grade"], place))


SET = Benchmark(
    name="nfcorpus",
    title="NFCorpus",
    source=(
        "NFCorpus (Boteva et al. 2016), title queries; documents in lower case without stop words, as its authors give "
        "them, so figures are not BEIR's"
    ),
    licence="academic use",
    citation="Boteva et al. 2016, A full-text learning to rank dataset for medical information retrieval, ECIR",
    origin="external",
    files=tuple(f"{split}.{part}" for split in SPLITS for part in ("titles.queries", "docs", "3-2-1.qrel")),
    pins=pinned(
        ("dev.titles.queries", HOME, "548d2deef61bdc5a9db538f12679c503eb1b117c8ad7d8517493fdb4d5741ca6"),
        ("dev.docs", HOME, "b7cf623af8f991e9d006d901a585234da65b0560a215e3bee85f884946b39751"),
        ("dev.3-2-1.qrel", HOME, "bb7048b9c7b029da5fe3a6f537f8be6e9e291554997c6face817d99c993c6c75"),
        ("test.titles.queries", HOME, "be3c7287d8784ab6f24e215693cdb0716468ff090252147415abe26a056a2648"),
        ("test.docs", HOME, "9d779d34db160e63a92a6b753ac79bcbc80d0f04dd01bdde71f38e98d6ad1f16"),
        ("test.3-2-1.qrel", HOME, "da94251f365be353ca30f15a46956b6e94dea5deac4d9174668cfa46f1b96b07"),
    ),
    tables=(
        Table(
            "nfcorpus",
            "queries",
            read,
            {"dev": 325, "test": 325},
            main_metric="ndcg_at_10",
            task="retrieval",
            trainable=False,
            passages={"dev": 3193, "test": 3162},
            judgements={"dev": 14589, "test": 15820},
        ),
    ),
)
