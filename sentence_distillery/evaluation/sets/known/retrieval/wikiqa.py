"""WikiQA: questions, and sentences of an encyclopaedia that may answer them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import BadDataError, Judgement, Passage, Query, parallel

HOME = f"{GITHUB}/castorini/data/056cbbcbf997cc0b35032430110c5e5e5525700a/WikiQA/test"
FILES = ("id.txt", "a.toks", "b.toks", "sim.txt")


def read(directory: Path) -> Iterator[Query | Passage | Judgement]:
    """Read parallel lines of question id, question, sentence and 0 or 1; a sentence is <question id>-<number>."""
    seen: Counter[str] = Counter()
    for place, (query, question, sentence, grade) in parallel(*(directory / file for file in FILES)):
        if query not in seen:
            yield Query(place, "test", query, question)
        if grade not in BINARY:
            raise BadDataError(f"{place}: unknown label {grade!r}; known labels: {', '.join(BINARY)}.")
        seen[query] += 1
        document = f"{query}-{seen[query]:02}"
        yield Passage(place, "test", document, sentence)
        yield Judgement(place, "test", query, document, int(grade))


SET = Benchmark(
    name="wikiqa",
    title="WikiQA",
    source="WikiQA (Yang et al. 2015), the 243 test questions that have an answer, tokenised in lower case",
    licence="Microsoft Research terms",
    citation="Yang, Yih and Meek 2015, WikiQA: a challenge dataset for open-domain question answering, EMNLP",
    origin="external",
    files=FILES,
    pins=pinned(
        ("id.txt", HOME, "0ad4f1e4c9faf2170a5a6d44eb790b4dfefddb3a6642accbc557929fceb9e8fa"),
        ("a.toks", HOME, "4e0eadef8b14d2e7ec65522220752ba41fa368c558c691ef379534d6796beef8"),
        ("b.toks", HOME, "669a1251693d152ff7d2d45f4ec6ba80bece79fe2c644d55cdb05cdb4fc467f7"),
        ("sim.txt", HOME, "ff957f92f255fe5075e808dadbde64d9855cda218b9db75d2ba3eb73571fad4a"),
    ),
    tables=(
        Table(
            "wikiqa",
            "queries",
            read,
            {"test": 243},
            main_metric="map",
            task="reranking",
            trainable=False,
            passages={"test": 2351},
            judgements={"test": 2351},
        ),
    ),
)
