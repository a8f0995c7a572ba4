"""Compare what two checkouts' `make run` left, one from before the move to the library and one from after it.

    python scripts/compare_runs.py OLD NEW

Every file of OLD's stages is looked up in NEW under its new name. It is byte-equal, or equal after the renames that
NAMES lists and without figures that differ between any two runs (seconds, memory, sentences a second), or different.
"""

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

PATHS = [  # old -> new, in this order
    ("models/my_model", "models/paper_student"),
    ("models/deep", "models/mlp_head"),
    ("models/gold_teacher", "models/fine_tuned_teacher"),
    ("models/gold", "models/fine_tuned_student"),
    ("data/gold_labels", "data/fine_tuned_labels"),
    ("data/silver_pairs", "data/augmented_pairs"),
    ("silver.json", "augmented.json"),
    ("held_out.parquet", "evaluation_fingerprints.parquet"),
    ("counters/my_model", "counters/paper_student"),
    ("counters/deep", "counters/mlp_head"),
    ("counters/gold_teacher", "counters/fine_tuned_teacher"),
    ("counters/gold_labels", "counters/fine_tuned_labels"),
    ("counters/gold", "counters/fine_tuned_student"),
    ("counters/pair_tuning", "counters/cross_encoder"),
    ("counters/silver_pairs", "counters/augmented_pairs"),
    ("counters/focus_weights", "counters/component_weights"),
    ("counters/focus.", "counters/component_results."),
    ("weighting/MyModel-", "weighting/paper student-"),
    ("weighting/student, deep-", "weighting/student, MLP head-"),
    ("weighting/student, gold-", "weighting/student, fine-tuned-"),
]
NAMES = {  # texts of outputs, old -> new
    "student, deep": "student, MLP head",
    "student, gold": "student, fine-tuned",
    "MyModel": "paper student",
    "held-out": "in an evaluation set",
    "sentence held out": "sentence in an evaluation set",
    "held_out": "validation",
    "further": "additional",
    "pairs_held_out": "pairs_validation",
}
PATTERNS = [
    (r"mean weights", "model soup"),
    (r"\bdeep\.(\w+)", r"mlp_head.\1"),
    (r"\bgold\.(\w+)", r"fine_tuned_student.\1"),
    (r"a task without \+silver", "a task without +augmented"),
    (r"^MyModel/", "paper student/"),
    (r"^student, deep/", "student, MLP head/"),
    (r"^student, gold/", "student, fine-tuned/"),
    (r"models/deep", "models/mlp_head"),
    (r"models/my_model", "models/paper_student"),
]
VOLATILE = {"seconds", "peak_memory_mb", "sentences_per_second", "runs_per_second", "runs", "rate", "comparison"}
VOLATILE |= {"data"}  # a hash of data/pairs, whose split `held_out` is called `validation` now
TIMED = re.compile(r"second|speed|runs_per")


def new_path(path: str) -> str:
    for old, new in PATHS:
        path = path.replace(old, new)
    return path


def renamed(text: str) -> str:
    text = NAMES.get(text, text)
    for pattern, new in PATTERNS:
        text = re.sub(pattern, new, text)
    return text


def plain(value: Any) -> Any:
    """`value` under the new names and without what differs between any two runs."""
    if isinstance(value, dict):
        if "evaluated" in value or "held_out" in value:  # the details of reports/counters/benchmarks.json
            value = {"validation" if key == "evaluated" else key: one for key, one in value.items()}
        return {renamed(key): plain(one) for key, one in value.items() if not TIMED.search(key) and key not in VOLATILE}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return renamed(value) if isinstance(value, str) else value


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [plain(row) for row in csv.DictReader(file) if not TIMED.search(row.get("metric") or "")]


def table(path: Path) -> pa.Table:
    found = pq.read_table(path).replace_schema_metadata(None)
    for index, field in enumerate(found.schema):
        if pa.types.is_string(field.type):
            texts = [None if text is None else renamed(text) for text in found.column(index).to_pylist()]
            found = found.set_column(index, field, pa.array(texts, field.type))
    return found


def same_content(old: Path, new: Path) -> bool:
    match old.suffix:
        case ".json":
            return bool(plain(json.loads(old.read_text())) == plain(json.loads(new.read_text())))
        case ".md":
            return renamed(old.read_text()) == new.read_text()
        case ".csv":
            return rows(old) == rows(new)
        case ".parquet":
            return bool(table(old).equals(table(new)))
        case _:
            return False


def compare(old: Path, new: Path) -> str:
    if not new.exists():
        return "missing"
    if old.read_bytes() == new.read_bytes():
        return "byte-equal"
    return "equal under the new names" if same_content(old, new) else "different"


def outputs(root: Path) -> list[Path]:
    """Every file that the lock of a checkout names as an output."""
    lock = yaml.safe_load((root / "dvc.lock").read_text(encoding="utf-8"))
    tops = sorted({out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])})
    paths = [root / top for top in tops]
    return sorted(
        {file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()}
    )


def main() -> None:
    old_root, new_root = (Path(argument) for argument in sys.argv[1:])
    counts: Counter[str] = Counter()
    for old in outputs(old_root):
        relative = old.relative_to(old_root).as_posix()
        verdict = compare(old, new_root / new_path(relative))
        counts[f"{old.suffix} {verdict}"] += 1
        if verdict not in ("byte-equal", "equal under the new names"):
            print(f"{verdict}: {relative}")
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")


if __name__ == "__main__":
    main()
