"""All benchmark sets, checked and in one format: `<name>.parquet`, `provenance.json` and the fingerprints.

`provenance.json` says where each set comes from, which sets are absent, and what the sets share.
`evaluation_fingerprints.parquet` has the fingerprint of each text of a dev or test split; `sentence_distillery.corpus`
drops these texts from the training corpus.

    write_benchmarks(["samples", "stsb"], Sources(Path("external"), Path("samples")), Path("benchmarks"))
    BenchmarkData(Path("benchmarks")).pairs("stsb", "test")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sentence_distillery.evaluation.sets.benchmark import Benchmark, Sources, Table, build_parts
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, FINGERPRINTS, PROVENANCE
from sentence_distillery.evaluation.sets.decontamination import Group, group, overlaps, union
from sentence_distillery.evaluation.sets.records import BadDataError
from sentence_distillery.evaluation.sets.registry import BENCHMARKS
from sentence_distillery.io.artifacts import InputError, atomic_directory, write_json, write_table
from sentence_distillery.io.checksums import sha256
from sentence_distillery.io.counters import Counters

Tables = dict[str, tuple[Benchmark, Table, dict[str, pa.Table]]]  # by set, the tables by file
Groups = dict[tuple[str, str], Group]


def write_benchmarks(
    names: Sequence[str], sources: Sources, target: Path, counters: Counters, own: Sequence[Benchmark] = ()
) -> None:
    """Read and check the sets, and write their tables, their provenance and the fingerprints.

    The directory `target` is replaced. `names` are those of `registry.BENCHMARKS`; an external set without any file is
    listed as absent. `own` are further sets, of the user's own labels. The counters count rows, in all and by table.

    Raises InputError if a name is unknown, only some files of a set are there, a file is not the pinned one, or a row
    is not as its entry in sets.toml says.
    """
    hashes: dict[str, dict[str, str]] = {}
    absent: dict[str, str] = {}
    tables: Tables = {}
    for benchmark in (*chosen(names), *own):
        directory, remedy = benchmark.place(sources)
        if is_absent(benchmark, directory, remedy):
            absent[benchmark.name] = f"{directory} holds none of its files; {remedy}"
        else:
            hashes[benchmark.name] = checksums(benchmark, directory, remedy)
            tables |= read(benchmark, directory, remedy)

    # Texts to keep out of training: all of dev and test, and of train if nothing may be trained on it.
    groups = groups_of(tables)
    evaluated = union(
        each for (name, split), each in groups.items() if split != "train" or not tables[name][1].trainable
    )
    about = {"sets": provenance(tables, hashes, groups), "absent": absent, "pair_sets": pair_sets(own)}

    # The tables, what is known of them and the fingerprints belong together, so they appear together.
    with atomic_directory(target) as directory:
        for file, table in ((file, table) for _, _, parts in tables.values() for file, table in parts.items()):
            write_table(directory / file, table)
            counters.keep(table.num_rows)
            counters.details[f"rows_{Path(file).stem}"] = table.num_rows
        write_table(directory / FINGERPRINTS, pa.table([evaluated], EVALUATION_FINGERPRINTS))
        write_json(directory / PROVENANCE, about)
    counters.details |= {"evaluated": len(evaluated), "absent": ", ".join(absent) or "none"}


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """Return the sets of these names, each once; raises InputError for an unknown one."""
    for name in names:
        if name not in BENCHMARKS:
            raise InputError(f"benchmarks.sets has '{name}'; known sets are {', '.join(BENCHMARKS)}.")
    return [BENCHMARKS[name] for name in dict.fromkeys(names)]


def is_absent(benchmark: Benchmark, directory: Path, remedy: str) -> bool:
    """Tell whether an external set has no file at all; raises InputError if any other set lacks a file."""
    missing = [file for file in benchmark.files if not (directory / file).is_file()]
    if missing and not (benchmark.external and len(missing) == len(benchmark.files)):
        raise InputError(f"{directory} lacks {', '.join(missing)} of {benchmark.name}; {remedy}.")
    return bool(missing)


def checksums(benchmark: Benchmark, directory: Path, remedy: str) -> dict[str, str]:
    """Compute the SHA-256 of each file; raises InputError if an external file is not the pinned one."""
    sums = {file: sha256(directory / file) for file in benchmark.files}

    # Only external files have published bytes; those of a user are as they are.
    for pin in benchmark.pins:
        if (found := sums.get(pin.name, pin.sha256)) != pin.sha256:
            raise InputError(f"{directory / pin.name} has SHA-256 {found}, expected {pin.sha256}; {remedy}.")
    return sums


def read(benchmark: Benchmark, directory: Path, remedy: str) -> Tables:
    """Read the tables of a set; raises InputError with value, file, line and remedy if a row is not as specified."""
    try:
        return {spec.name: (benchmark, spec, build_parts(spec, directory)) for spec in benchmark.tables}
    except BadDataError as error:
        raise InputError(f"{error} To repair it, {remedy}.") from error


def groups_of(tables: Tables) -> Groups:
    """Fingerprint each split of all sets but those of words, since words alone leak nothing."""
    groups: Groups = {}
    for name, (_, spec, parts) in tables.items():
        for split in dict.fromkeys((*spec.rows, *spec.passages)):
            rows = [table.filter(pc.equal(table["split"], split)) for table in parts.values()]

            # A pair is compared as two sentences and as a pair, a document as a whole.
            match spec.kind:
                case "words":
                    continue
                case "pairs":
                    groups[name, split] = group(*(rows[0][column].to_pylist() for column in ("sentence1", "sentence2")))
                case _:
                    columns = [table["text"].to_pylist() for table in rows if "text" in table.column_names]
                    groups[name, split] = group([text for column in columns for text in column])
    return groups


def provenance(tables: Tables, hashes: dict[str, dict[str, str]], groups: Groups) -> dict[str, Any]:
    """Describe each table, by name, as `provenance.json` has it."""
    # What two sets share decides whether a figure on one says anything after training on the other.
    shared = overlaps(groups)
    return {
        name: {
            "kind": spec.kind,
            "task": spec.task,
            "protocols": list(spec.protocols),
            "trainable": spec.trainable,
            "scored": spec.scored,
            **({"own": True} if benchmark.origin == "own" else {}),
            "source": benchmark.source,
            "licence": benchmark.licence,
            "citation": benchmark.citation,
            "main_metric": spec.main_metric,
            "sha256": hashes[benchmark.name],
            "rows": dict(spec.rows),
            **({"documents": dict(spec.passages), "judgements": dict(spec.judgements)} if spec.passages else {}),
            "scale": list(spec.scale) if spec.scale else None,
            "distinct": {split: each.distinct for (of, split), each in groups.items() if of == name},
            "overlaps": shared.get(name, {}),
        }
        for name, (benchmark, spec, _) in tables.items()
    }


def pair_sets(own: Sequence[Benchmark]) -> list[str]:
    """Return the names of all known sets of pairs, whether they are present or not."""
    return [
        spec.name for benchmark in (*BENCHMARKS.values(), *own) for spec in benchmark.tables if spec.kind == "pairs"
    ]
