"""Universal Dependencies, English Web Treebank: the treebank that trains and tests the parser."""

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, pinned

HOME = f"{GITHUB}/UniversalDependencies/UD_English-EWT/15d613d8"

SET = Benchmark(
    name="ud-english-ewt",
    title="UD English EWT",
    source="Universal Dependencies, English Web Treebank",
    licence="CC BY-SA 4.0",
    citation="Silveira et al. 2014, A gold standard dependency corpus for English, LREC",
    origin="external",
    pins=pinned(
        ("en_ewt-ud-train.conllu", None, "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"),
        ("en_ewt-ud-dev.conllu", HOME, "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
        ("en_ewt-ud-test.conllu", HOME, "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"),
    ),
)
