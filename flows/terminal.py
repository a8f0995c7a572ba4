"""`dvc repro` with one line for each stage: `python -m flows.terminal [target ...]`.

    [ 8/15] soft_labels: 2,591 sentences (37 s)

A line says how many stages are done, what the stage kept and how long it took. What a stage says in between, and every
error, is shown too; what DVC says about its lock file and about git is not.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dvc.repo import Repo

STARTED = re.compile(r"Running stage '(.+)':")
UNCHANGED = re.compile(r"Stage '(.+)' (didn't change, skipping|is cached - skipping run.*)")
NOISE = re.compile(
    r"\s*|> .*|(Updating|Generating) lock file .*|To track the changes .*|\s*git add .*|To enable auto staging.*"
    r"|\s*dvc config .*|Use `dvc push` .*|Data and pipelines are up to date\."
)


@dataclass
class Progress:
    """How many stages are done, of those of a target and everything that it depends on."""

    total: int
    running: str = ""
    done: int = 0
    unchanged: int = 0

    def shown(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield what a person wants to read of the lines that DVC and the stages print."""
        for line in map(str.rstrip, lines):
            if started := STARTED.fullmatch(line):
                self.running, self.done = started[1], self.done + 1
            elif UNCHANGED.fullmatch(line):
                self.unchanged, self.done = self.unchanged + 1, self.done + 1
            elif self.running and line.startswith(f"{self.running}: "):
                yield f"[{self.done:2}/{self.total}] {line}"
            elif not NOISE.fullmatch(line):
                yield line


def repro(target: str | None) -> int:
    """Bring a stage and everything it depends on up to date, or all stages; return DVC's exit status."""
    with Repo() as repo:
        progress = Progress(len(repo.stage.collect(target, with_deps=True)))
    command = [sys.executable, "-m", "dvc", "repro", *([target] if target else ())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in progress.shown(process.stdout):
            print(line, flush=True)
    if progress.unchanged and process.returncode == 0:
        print(f"{progress.unchanged} of {progress.total} stages were up to date.", flush=True)
    return process.returncode


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the targets one after the other, up to the first that fails."""
    for target in (sys.argv[1:] if arguments is None else arguments) or (None,):
        if status := repro(target):
            sys.exit(status)


if __name__ == "__main__":
    main()
