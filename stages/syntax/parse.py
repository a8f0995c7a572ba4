"""Stage `parse`: the dependency tree of every sentence of the pair sets that `syntax.sets` names."""

from sentence_distillery.benchmarks.data import present
from sentence_distillery.syntax.parser import fingerprint
from sentence_distillery.syntax.parsing import Shelf, parse_missing, shards_of, write_trees
from stages.stage import stage


def main() -> None:
    with stage("parse", unit="sentences") as (params, counters):
        names = present(params.syntax.sets, "syntax.sets")
        counters.details["sets"] = ", ".join(names)
        counters.details["sets absent"] = ", ".join(sorted(set(params.syntax.sets) - set(names)))
        shelf = Shelf(params.syntax, fingerprint(params.syntax.model))
        shards = list(shards_of(names))
        texts, rate = parse_missing(shelf, [shard for shard in shards if not shelf.has(shard)], params.shards)
        counters.details["sentences parsed in this run"] = texts
        counters.details["sentences a second"] = round(rate, 1)
        write_trees(shelf, shards, counters)


if __name__ == "__main__":
    main()
