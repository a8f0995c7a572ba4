"""The benchmarks stage: every set that evaluation scores on, checked and in one format."""

import pyarrow as pa

from sentence_distillery.benchmarks.assembly import (
    Tables,
    checksums,
    chosen,
    groups_of,
    is_absent,
    pair_sets,
    provenance,
    read,
)
from sentence_distillery.benchmarks.data import BENCHMARKS_DIRECTORY, EVALUATION_FINGERPRINTS, PROVENANCE
from sentence_distillery.benchmarks.overlaps import union
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from stages.stage import stage


def main() -> None:
    with stage("benchmarks", unit="rows") as (params, counters):
        tables: Tables = {}
        hashes: dict[str, dict[str, str]] = {}
        absent: dict[str, str] = {}
        for benchmark in chosen(params.benchmarks.sets):
            if is_absent(benchmark):
                absent[benchmark.name] = f"{benchmark.directory} holds none of its files; {benchmark.remedy}"
                continue
            hashes[benchmark.name] = checksums(benchmark)
            tables |= read(benchmark)
        groups = groups_of(tables)
        evaluated = union(found for (_, split), found in groups.items() if split != "train")
        with atomic_directory(BENCHMARKS_DIRECTORY) as directory:
            for name, (_, _, table) in tables.items():
                write_table(directory / f"{name}.parquet", table)
                counters.keep(table.num_rows)
                counters.details[f"rows_{name}"] = table.num_rows
            write_table(directory / "evaluation_fingerprints.parquet", pa.table([evaluated], EVALUATION_FINGERPRINTS))
            about = {"sets": provenance(tables, hashes, groups), "absent": absent, "pair_sets": pair_sets()}
            write_json(directory / PROVENANCE, about)
        counters.details["evaluated"] = len(evaluated)
        counters.details["absent"] = ", ".join(absent) or "none"


if __name__ == "__main__":
    main()
