"""Texts a second on twelve kinds of text that other people wrote, compared with model2vec: a part of `make bench`.

    python -m measurements.kinds --from <directory with texts, suite, multilingual and benchmarks>

A kind whose files are not there is left out. Each system has one core and one process, the same texts and the same
table. Runs alternate. What counts is the time of the processor, and the fastest run of each part of 1,024 texts: what
other programs do can only add to it.

The native core remembers words. So each text is new to it: it is made anew, reads every second part, and is timed with
the others, then the other way round. "own again" has read the same texts.

Further: one text a call, and the first call after loading.
"""

import os

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
if CORES:
    os.sched_setaffinity(0, CORES[:1])  # before a library counts the cores
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse  # noqa: E402
import csv  # noqa: E402
import json  # noqa: E402
import keyword  # noqa: E402
import pickle  # noqa: E402
import re  # noqa: E402
import sysconfig  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterable, Iterator  # noqa: E402
from functools import partial  # noqa: E402
from itertools import chain, islice, product  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import geometric_mean, mean  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from measurements.encoding import BATCH, Encode, in_model2vec, keep_memory, machine  # noqa: E402
from sentence_distillery.encoder.static_encoder import StaticEncoder  # noqa: E402
from sentence_distillery.encoder.tokenizer import is_emoji  # noqa: E402
from sentence_distillery.io.artifacts import write_json  # noqa: E402
from sentence_distillery.runtime.progress import track  # noqa: E402
from stages import paths  # noqa: E402

CHARACTERS = 600_000  # of a kind, at most
TEXTS = 5_000
RUNS = 9
CALLS = 2_000
FEW = 10_000
SHORT = "How do I get a replacement for the card that was stolen?"

Kinds = dict[str, Callable[[Path], Iterable[str]]]


def lines(path: Path) -> list[str]:
    """Read a file of lines."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def column(path: Path, name: str) -> list[str]:
    """Read a column of a Parquet file."""
    return [text or "" for text in pq.read_table(path, columns=[name])[name].to_pylist()]


def first_cells(path: Path, count: int = 1) -> list[str]:
    """Read the first cells of each row of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(chain.from_iterable(row[:count] for row in csv.reader(file)))


def of_language(place: Path, code: str, tatoeba: str) -> list[str]:
    """Read the sentences of a language, the everyday ones and those of news and captions."""
    texts = lines(place / f"multilingual/tatoeba/tatoeba.{tatoeba}-eng.{tatoeba}")
    return texts + first_cells(place / f"multilingual/stsb/stsb-{code}-test.csv", 2)


def signatures(place: Path) -> Iterator[str]:
    """Yield the identifiers of each function of Python's own library."""
    del place
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for found in re.finditer(r"^\s*def (.*?:)$", path.read_text(encoding="utf-8", errors="replace"), re.M):
            names = [name for name in re.findall(r"[A-Za-z_]\w+", found[1]) if not keyword.iskeyword(name)]
            yield " ".join(names)


def with_emoji(place: Path) -> list[str]:
    """Read the messages that have an emoji."""
    texts = column(place / "texts/tweets.parquet", "text")
    texts += lines(place / "suite/classification/tweet_emotion/train_text.txt")
    return [text for text in texts if any(map(is_emoji, text))]


KINDS: Kinds = {
    "tweets": lambda place: column(place / "texts/tweets.parquet", "text")[::13],
    "chat with emoji": with_emoji,
    "German sentences": lambda place: of_language(place, "de", "deu"),
    "French and Spanish": lambda place: of_language(place, "fr", "fra") + of_language(place, "es", "spa"),
    "Japanese": lambda place: of_language(place, "ja", "jpn"),
    "titles in PubMed": lambda place: (t.split("\n")[0] for t in column(place / "suite/text/ohsumed.parquet", "text")),
    "abstracts": lambda place: (json.loads(t)["text"] for t in lines(place / "suite/retrieval/scifact/corpus.jsonl")),
    "Stack Overflow titles": lambda place: lines(place / "suite/clustering/stackoverflow/title_StackOverflow.txt"),
    "bank questions": lambda place: first_cells(place / "suite/classification/banking77/train.csv")[1:],
    "news": lambda place: (text[:300] for text in column(place / "benchmarks/news/news.parquet", "text")[::3]),
    "film reviews": lambda place: column(place / "benchmarks/imdb/imdb_test.parquet", "text")[::20],
    "identifiers": signatures,
}


def texts_of(read: Callable[[Path], Iterable[str]], place: Path) -> list[str]:
    """Take texts of a kind that are not blank, up to TEXTS and CHARACTERS; none if a file is not there."""
    try:
        found = list(islice(filter(str.strip, read(place)), TEXTS))
    except FileNotFoundError:
        return []
    total = np.cumsum([len(text) for text in found])
    return found[: max(1, int(np.searchsorted(total, CHARACTERS)))] if found else []


def seconds(encode: Encode, texts: list[str]) -> float:
    """Return the seconds of the processor for a call."""
    start = time.process_time()
    encode(texts)
    return time.process_time() - start


class System(NamedTuple):
    """How an encoder encodes texts, and how it is prepared by the parts that it is not timed with."""

    encode: Encode
    before: Callable[[list[list[str]]], None]


def read(encode: Encode, parts: list[list[str]]) -> None:
    """Encode some parts."""
    for part in parts:
        encode(part)


def forget(encoder: StaticEncoder, parts: list[list[str]]) -> None:
    """Have an encoder make its native core anew, without the words of earlier texts, and read some parts."""
    encoder.__dict__.pop("_core", None)
    read(encoder.encode, parts or [[""]])


def compared(systems: dict[str, System], texts: list[str], runs: int) -> dict[str, float]:
    """Time the systems in turns, part by part; returns the sum of the fastest run of each part, in seconds."""
    size = min(BATCH, -(-len(texts) // 2))
    parts = [texts[start : start + size] for start in range(0, len(texts), size)]
    fastest = {name: [float("inf")] * len(parts) for name in systems}
    for _, (name, system), first in product(range(runs), systems.items(), (0, 1)):
        read(system.encode, parts)  # since another one's data are in the processor's cache
        system.before(parts[1 - first :: 2])
        for place in range(first, len(parts), 2):
            fastest[name][place] = min(fastest[name][place], seconds(system.encode, parts[place]))
    return {name: sum(each) for name, each in fastest.items()}


def row(systems: dict[str, System], texts: list[str], runs: int) -> dict[str, float]:
    """Measure a kind."""
    taken = compared(systems, texts, runs)
    return {
        "texts": len(texts),
        "mean_characters": round(mean(map(len, texts)), 1),
        "ascii": round(mean(text.isascii() for text in texts), 3),
        **{name: round(len(texts) / each, 0) for name, each in taken.items()},
        "times": round(taken["model2vec"] / taken["own"], 1),
        "times_again": round(taken["model2vec"] / taken["own again"], 1),
        "times_for_search": round(taken["model2vec"] / taken["own for search"], 1),
    }


def one_a_call(encode: Callable[[str], object]) -> float:
    """Return the microseconds of a call with one short text: the fastest of batches of calls."""
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(CALLS // RUNS):
            encode(SHORT)
        found.append((time.perf_counter() - start) / (CALLS // RUNS))
    return round(1e6 * min(found), 2)


def first_call(encoder: StaticEncoder, texts: list[str]) -> dict[str, float]:
    """Compare the first call of an encoder that was just loaded with the second one, in texts a second."""
    fresh = pickle.loads(pickle.dumps(encoder))
    first, second = (seconds(fresh.encode, texts) for _ in range(2))
    return {"first": round(len(texts) / first, 0), "second": round(len(texts) / second, 0)}


def show(rows: dict[str, dict[str, float]]) -> None:
    """Print the figures of all kinds."""
    for name, found in rows.items():
        print(
            f"{name:22} {found['mean_characters']:7,.0f} characters {found['own']:12,.0f}/s  for search "
            f"{found['own for search']:12,.0f}/s  model2vec {found['model2vec']:9,.0f}/s  {found['times']:6.1f} and "
            f"{found['times_for_search']:5.1f} times"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Texts a second on many kinds of text, compared with model2vec.")
    parser.add_argument("--from", dest="place", type=Path, default=Path("../shared"), help="where the texts are")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    keep_memory()
    own, search = (StaticEncoder.load(name) for name in ("released", "released-search"))
    peer, again = in_model2vec(own), StaticEncoder.load("released")
    systems = {
        "own": System(own.encode, partial(forget, own)),
        "own again": System(again.encode, partial(read, again.encode)),
        "own for search": System(search.encode, partial(forget, search)),
        "model2vec": System(peer, partial(read, peer)),
    }
    kinds = {name: found for name, read in KINDS.items() if (found := texts_of(read, options.place))}
    rows: dict[str, dict[str, float]] = {}
    for name in track(kinds, len(kinds), "kinds"):
        rows[name] = row(systems, kinds[name], options.runs)
    times = {ratio: [each[ratio] for each in rows.values()] for ratio in ("times", "times_again", "times_for_search")}
    few = kinds.get("bank questions", kinds["identifiers"])
    result: dict[str, Any] = {
        "kinds": rows,
        "geometric_mean": round(geometric_mean(times["times"]), 1),
        "smallest": min(times["times"]),
        "geometric_mean_again": round(geometric_mean(times["times_again"]), 1),
        "geometric_mean_for_search": round(geometric_mean(times["times_for_search"]), 1),
        "smallest_for_search": min(times["times_for_search"]),
        "one_text_microseconds": {
            name: one_a_call(systems[name].encode)  # type: ignore[arg-type]
            for name in ("own", "own for search", "model2vec")
        },
        "texts_per_second_of_the_first_call": first_call(own, few[:FEW]),
        "runs": options.runs,
        "machine": machine(),
    }
    write_json(paths.KINDS, result)
    show(rows)
    for name, value in result.items():
        if name not in ("kinds", "machine"):
            print(f"{name.replace('_', ' ')}: {value}")


if __name__ == "__main__":
    main()
