"""How much memory a long stream of sentences takes: `python -m measurements.stream MODEL TEXTS --sentences 10000000`.

The process imports nothing but the library's core, encodes the lines of a text file again and again, and prints its
peak memory in MB at the start, after a tenth of the sentences and at the end. `make bench` runs it on the last run's
corpus.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sentence_distillery import load


def peak() -> float:
    """Return the largest memory of this process so far, in MB; getrusage would also count the one that started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return round(int(line.split()[1]) / 1024, 1)


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, and again from its beginning."""
    while True:
        with path.open(encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file)


def main() -> None:
    parser = argparse.ArgumentParser(description="The memory that a long stream of sentences takes.")
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--sentences", type=int, required=True)
    options = parser.parse_args()
    model = load(options.model)
    at_the_start, after_a_tenth, done, began = peak(), 0.0, 0, time.perf_counter()
    for vectors in model.encode_stream(islice(lines(options.texts), options.sentences)):
        done += len(vectors)
        if not after_a_tenth and done >= options.sentences // 10:
            after_a_tenth = peak()
    rate = round(done / (time.perf_counter() - began), 1)
    memory = {"mb_at_the_start": at_the_start, "mb_after_a_tenth": after_a_tenth, "mb_at_the_end": peak()}
    print(json.dumps({"sentences": done, "sentences_per_second": rate} | memory))


if __name__ == "__main__":
    main()
