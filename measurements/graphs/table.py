"""The results as a Markdown table, with one line that counts them."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from measurements.graphs.compare import Result, Step

HEADER = (
    "project", "stages", "features", "dvc rc", "command rc", "lock", ".gitignore", "outs", "second run",
    "after a change", "status", "CPU dvc", "CPU command", "verdict",
)  # fmt: skip
VERDICTS = ("same", "layout", "order", "no stages", "refused by both", "failed alone", "differ", "too long")
KINDS = ("same", "layout", "order")  # of differences in a file by their weight; all others weigh more
MEANING = {
    "layout": "same but for line breaks within a text or the last digit of a float, which DVC changes when it writes",
    "order": "same but for the order of lines in dvc.lock or .gitignore",
    "no stages": "without a stage",
    "failed alone": "failed with the command alone",
    "too long": "not measured, since DVC took too long",
}


def read_results(work: Path) -> Iterator[Result]:
    """Yield the results of a work folder by name."""
    for file in sorted((work / "results").glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        steps = {name: Step(**step) for name, step in found["steps"].items()}
        yield Result(**{**found, "steps": steps})


def table(results: Sequence[Result]) -> str:
    """Return the table and the line that counts the verdicts."""
    rows = [HEADER, ("---",) * len(HEADER), *map(row, results)]
    counts = Counter(result.verdict for result in results)
    words = [f"{counts[verdict]} {MEANING.get(verdict, verdict)}" for verdict in VERDICTS]
    lines = [f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |" for cells in rows]
    return "\n".join([*lines, "", f"{len(results)} built: {', '.join(words)}.", ""])


def row(result: Result) -> tuple[object, ...]:
    """Return the cells of a project."""
    first = result.steps["first"]
    written = (_worst(result, "lock"), _worst(result, "ignore"), outputs(result)) if first.right else ("-", "-", "-")
    later = (stages(result.steps.get(name)) for name in ("second", "changed"))
    about = (result.name, result.stages, result.features, code(first, 0), code(first, 1))
    return (*about, *written, *later, status(result), *first.cpu, result.verdict)


def code(step: Step, which: int) -> str:
    """Return an exit status."""
    return "timeout" if step.timeouts[which] else str(step.codes[which])


def _worst(result: Result, kind: str) -> str:
    found: set[str] = {getattr(step, kind) for step in result.steps.values()}
    return max(found, key=lambda each: KINDS.index(each) if each in KINDS else len(KINDS))


def outputs(result: Result) -> str:
    """Tell whether all other files were equal after each step, else which differ, shortened."""
    return _short(sorted({path for step in result.steps.values() for path in step.files})) or "same"


def stages(step: Step | None) -> str:
    """Tell whether both ran the same stages, else which ran with one of them alone, shortened."""
    if step is None:
        return "-"
    if not step.right:
        return "both fail" if all(step.codes) else f"dvc {code(step, 0)}, command {code(step, 1)}"
    more, fewer = set(step.by_command) - set(step.by_dvc), set(step.by_dvc) - set(step.by_command)
    parts = [f"{word} {_short(sorted(names))}" for word, names in (("also", more), ("not", fewer)) if names]
    return "; ".join(parts) or "yes"


def status(result: Result) -> str:
    """Return what `dvc status -q` says after the command, and after DVC if that is something else."""
    if result.status is None:
        return "-"
    dvc, command = result.status
    return str(command) if dvc == command else f"{command} (dvc {dvc})"


def _short(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
