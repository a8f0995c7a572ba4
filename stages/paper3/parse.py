"""The stage `parse`: parse every sentence of the pair sets that `syntax.sets` names.

Reads data/benchmarks and the parser's models, keeps parsed shards in data/checkpoints/parse, and writes the dependency
trees to data/trees.
"""

from pathlib import Path

from reproductions.paper3.syntax.parser import fingerprint, hub_models
from reproductions.paper3.syntax.parsing import TreeCache, parse_missing, shards_of, write_trees
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from stages import paths
from stages.stage import stage


def models_of(model: str) -> Path:
    """Return the directory of the models that `syntax.model` names: bundled, hub, or a directory."""
    if model == "hub":
        return hub_models()
    directory = paths.PARSER if model == "bundled" else Path(model)
    if not directory.is_dir():
        remedy = f"restore it with `git checkout {directory}`" if model == "bundled" else "put the models there"
        raise InputError(
            f"syntax.model = {model}: {directory} is not a directory; {remedy}, or set it to bundled or hub."
        )
    return directory


def main() -> None:
    with stage("parse", unit="sentences") as (params, counters):
        benchmarks = BenchmarkData(paths.BENCHMARKS)
        names = benchmarks.present(params.syntax.sets, "syntax.sets")
        counters.details["sets"] = ", ".join(names)
        counters.details["sets absent"] = ", ".join(sorted(set(params.syntax.sets) - set(names)))
        models = models_of(params.syntax.model)
        cache = TreeCache(paths.PARSED_SHARDS, fingerprint(models), params.syntax.maximum_words)
        shards = list(shards_of(names, benchmarks))
        texts, rate = parse_missing(cache, [shard for shard in shards if not cache.has(shard)], models, params.shards)
        counters.costs["sentences parsed in this run"] = texts
        counters.costs["sentences a second"] = round(rate, 1)
        write_trees(cache, shards, paths.TREES, counters)


if __name__ == "__main__":
    main()
