"""The order of dvc.lock and .gitignore: as `dvc repro` leaves them, however many stages run side by side.

Entries that dvc.lock has keep their places; new ones stand in the order in which `dvc repro` would run the stages. The
lines that DVC adds to a .gitignore, too: a .gitignore counts in the hash of the directory around it, so another order
would be another input of the stages that read that directory.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dvc.utils.serialize import load_yaml, modify_yaml

Names = Mapping[Path, Sequence[str]]  # names of stages by dvc.lock


def lock_order(locks: Sequence[Path]) -> dict[Path, list[str]]:
    """Return the names of the stages that each dvc.lock has, in its order."""
    return {lock: list(load_yaml(lock).get("stages") or {}) for lock in locks if lock.exists()}


def put_in_order(before: Names, plan: Names) -> list[str]:
    """Move the entries of each dvc.lock to their places, as they were `before`, and then as in the plan of the run.

    Return the files that are in another order now.
    """
    changed = []
    for lock, planned in plan.items():
        if not lock.exists():
            continue
        there = list(load_yaml(lock).get("stages") or {})
        first = list(before.get(lock, ()))
        rank = {name: row for row, name in enumerate([*first, *(name for name in planned if name not in first)])}
        wanted = sorted(there, key=lambda name: rank.get(name, len(rank)))
        if wanted == there:
            continue
        with modify_yaml(lock) as content:
            for name in wanted:
                content["stages"].move_to_end(name)
        changed.append(str(lock))
    return changed


class IgnoredOutputs:
    """The lines that DVC adds to .gitignore files during a run."""

    def __init__(self) -> None:
        self._added: dict[Path, list[tuple[int, bytes]]] = {}

    def put_in_order(self, paths: Sequence[str], rank: int) -> None:
        """Move the lines that DVC has just added for outputs of the stage at `rank` of the plan to their places."""
        for file in sorted({Path(path).parent / ".gitignore" for path in paths}):
            number = sum(Path(path).parent == file.parent for path in paths)
            lines, added = file.read_bytes().splitlines(keepends=True), self._added.get(file, [])
            head = lines[: len(lines) - number - len(added)]
            if lines[len(head) : len(lines) - number] != [line for _, line in added]:
                head, added = lines[: len(lines) - number], []  # somebody else has changed it meanwhile
            own = [*added, *((rank, line) for line in lines[len(lines) - number :])]
            self._added[file] = sorted(own, key=lambda entry: entry[0])
            wanted = [*head, *(line for _, line in self._added[file])]
            if wanted != lines:
                file.write_bytes(b"".join(wanted))
