"""The benchmarks stage: every set that evaluation scores on, checked and in one format.

Writes data/benchmarks/<name>.parquet, `provenance.json` (where each set comes from, what is absent, what the sets
share) and `evaluation_fingerprints.parquet`: the fingerprint of every text that evaluation scores on, which the corpus room drops from
what models are trained on. Lee and IMDB texts are held out as whole documents, not sentence by sentence.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sentence_distillery.benchmarks import external
from sentence_distillery.benchmarks.overlaps import Group, group, overlaps
from sentence_distillery.benchmarks.readers import BadDataError
from sentence_distillery.benchmarks.registry import BENCHMARKS, Benchmark, TableSpec, build
from sentence_distillery.io.artifacts import InputError

Tables = dict[str, tuple[Benchmark, TableSpec, pa.Table]]
Groups = dict[tuple[str, str], Group]


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """The sets of these names, each once; raises InputError for an unknown one."""
    for name in names:
        if name not in BENCHMARKS:
            raise InputError(f"params.yaml: benchmarks.sets has '{name}'; known sets are {', '.join(BENCHMARKS)}.")
    return [BENCHMARKS[name] for name in dict.fromkeys(names)]


def is_absent(benchmark: Benchmark) -> bool:
    """Whether no file of an external set is there; raises InputError where some are, or a set of ours has a gap."""
    missing = [file for file in benchmark.files if not (benchmark.directory / file).is_file()]
    if missing and not (benchmark.external and len(missing) == len(benchmark.files)):
        raise InputError(f"{benchmark.directory} lacks {', '.join(missing)} of {benchmark.name}; {benchmark.remedy}.")
    return bool(missing)


def checksums(benchmark: Benchmark) -> dict[str, str]:
    """SHA-256 of each file; raises InputError where an external file is not the pinned one."""
    found = {file: _sha256(benchmark.directory / file) for file in benchmark.files}
    for file, sha256 in found.items():
        if benchmark.external and sha256 != (pinned := external.checksum(benchmark.name, file)):
            path = benchmark.directory / file
            raise InputError(f"{path} has SHA-256 {sha256}, expected {pinned}; {benchmark.remedy}.")
    return found


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Make it readable, then run again.") from error


def read(benchmark: Benchmark) -> Tables:
    """The tables of a set; raises InputError with value, file, line and remedy for what is not as the registry says."""
    try:
        return {spec.name: (benchmark, spec, build(spec, benchmark.directory)) for spec in benchmark.tables}
    except BadDataError as error:
        raise InputError(f"{error} To mend it, {benchmark.remedy}.") from error


def groups_of(tables: Tables) -> Groups:
    """The fingerprints of each split of the sentence and document sets; word sets share nothing that matters."""
    groups: Groups = {}
    for name, (_, spec, table) in tables.items():
        if spec.kind == "words":
            continue
        for split in spec.rows:
            rows = table.filter(pc.equal(table["split"], split))
            texts = ("text",) if spec.kind == "documents" else ("sentence1", "sentence2")
            groups[name, split] = group(*(rows[column].to_pylist() for column in texts))
    return groups


def provenance(tables: Tables, hashes: dict[str, dict[str, str]], groups: Groups) -> dict[str, Any]:
    """What provenance.json says of each table, by name."""
    found = overlaps(groups)
    return {
        name: {
            "kind": spec.kind,
            "source": benchmark.source,
            "licence": benchmark.licence,
            "sha256": hashes[benchmark.name],
            "rows": dict(spec.rows),
            "scale": list(spec.scale) if spec.scale else None,
            "distinct": {split: groups[name, split].distinct for split in spec.rows if (name, split) in groups},
            "overlaps": found.get(name, {}),
        }
        for name, (benchmark, spec, _) in tables.items()
    }


def pair_sets() -> list[str]:
    """The names of all sets of pairs that can be had, here or not."""
    return [spec.name for benchmark in BENCHMARKS.values() for spec in benchmark.tables if spec.kind == "pairs"]
