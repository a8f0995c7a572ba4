"""Twitter URL: tweets that share a link, paraphrases or not."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Pair, parallel

HOME = f"{GITHUB}/castorini/data/056cbbcbf997cc0b35032430110c5e5e5525700a/twitterPPDB/test"
FILES = ("a.toks", "b.toks", "sim.txt")


def read(directory: Path) -> Iterator[Pair]:
    """Read parallel lines of two tweets and the label 1 for paraphrases, else 0."""
    for place, (one, other, label) in parallel(*(directory / file for file in FILES)):
        yield Pair(place, "test", one, other, label=label)


SET = Benchmark(
    name="twitter_url",
    title="Twitter URL",
    source="Twitter News URL corpus (Lan et al. 2017), test, tokenised in lower case",
    licence="research use",
    citation="Lan et al. 2017, A continuously growing dataset of sentential paraphrases, EMNLP",
    origin="external",
    files=FILES,
    pins=pinned(
        ("a.toks", HOME, "2c6bb7cc50ea4f6bae48c7d282eeafc58b835e07134c828cc7c57b7b3ba39c6a"),
        ("b.toks", HOME, "227dc80676925864aa430b7e5943e58d636b69b853eee6f81b8cdc1fab861de1"),
        ("sim.txt", HOME, "3f3518691af4449b852b5644ebb6967f9503b5e6ec2f0cb26d0a447f2179cee7"),
    ),
    tables=(
        Table(
            "twitter_url",
            "pairs",
            read,
            {"test": 9324},
            labels=BINARY,
            main_metric="ap",
            task="pair_classification",
            trainable=False,
        ),
    ),
)
