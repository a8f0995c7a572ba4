"""All sets of texts, by name: each module of `sets` and of its folders has one as its constant `SET`.

Adding a benchmark is adding a module there, and its name to `benchmarks.sets`. A set without tables is text that is not
scored on, such as a training corpus.
"""

from sentence_distillery.evaluation.sets import known as sets
from sentence_distillery.evaluation.sets.benchmark import Benchmark
from sentence_distillery.evaluation.sets.known import classification, retrieval
from sentence_distillery.io.plugins import entries

FOLDERS = (sets, classification, retrieval)
SETS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in sorted((each for folder in FOLDERS for each in entries(folder, "SET")), key=lambda each: each.name)
}
BENCHMARKS = {name: benchmark for name, benchmark in SETS.items() if benchmark.tables}
EXTERNAL = tuple(benchmark for benchmark in SETS.values() if benchmark.external)

# Sets of each kind of task on whose labels nothing here is trained; measurements/suite.py scores encoders on them.
SUITE = {
    "similarity": ("stsb", "sick"),
    "pair classification": ("mrpc", "twitter_url"),
    "classification": ("banking77", "tweet_emotion", "trec", "subj", "mr"),
    "clustering": ("stackoverflow",),
    "retrieval": ("scifact", "nfcorpus", "cranfield", "wikiqa"),
}
