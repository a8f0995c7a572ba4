"""The graph in the workspace, with one line for each stage: `python -m prefect_dvc.terminal [target ...]`.

    [ 8/15] soft_labels: 2,591 sentences (37 s)

The result is that of `dvc repro`, which runs one stage at a time; here two run, if neither needs the other. A line says
how many stages have begun, what the stage kept and how long it took. Other lines of a stage, and every error, are shown
too; DVC's messages on its lock file and on git are not.
"""

import argparse
import re
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from dvc.exceptions import DvcException

from prefect_dvc.execution.graph import GraphError
from prefect_dvc.execution.reproduce import Outcome
from prefect_dvc.execution.run import PipelineError, open_in_place
from prefect_dvc.pipeline import stop

AT_A_TIME = 2
NOISE = re.compile(
    r"\s*|> .*|(Updating|Generating) lock file .*|To track the changes .*|\s*git add .*|To enable auto staging.*"
    r"|\s*dvc config .*|Use `dvc push` .*|Running stage '.+':"
    r"|Stage '.+' (didn't change, skipping|is cached - skipping run.*)"
)


class Progress:
    """How many stages have begun, of those of a target and everything that it depends on.

    Args:
        total: Their number.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.unchanged = 0
        self.lines: set[str] = set()  # that a person has seen
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def shown(self, stage: str, line: str) -> str:
        """Return a line of a stage as a person wants to read it: its result begins with its number."""
        number = self._number(stage)
        self.lines.add(line)
        return f"[{number:2}/{self.total}] {line}" if line.startswith(f"{stage}: ") else line

    def ended(self, stage: str, outcome: Outcome) -> None:
        """Count a stage that is up to date."""
        self._number(stage)
        with self._lock:
            self.unchanged += outcome is not Outcome.RAN

    def _number(self, stage: str) -> int:
        with self._lock:
            return self._numbers.setdefault(stage, len(self._numbers) + 1)


def say(line: str) -> None:
    """Print a line that tells a person something."""
    if not NOISE.fullmatch(line):
        print(line, flush=True)


def bring_up_to_date(target: str) -> None:
    """Bring a stage and everything it depends on up to date; raises PipelineError."""
    with open_in_place(Path.cwd(), target, AT_A_TIME, say) as run:
        progress = Progress(len(run.stages))
        try:
            run.in_threads(
                lambda stage, line: say(progress.shown(stage.name, line)),
                lambda stage, outcome: progress.ended(stage.name, outcome),
            )
        except PipelineError as error:
            raise PipelineError("\n".join(x for x in str(error).splitlines() if x not in progress.lines)) from error
    if progress.unchanged:
        print(f"{progress.unchanged} of {progress.total} stages were up to date.", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the targets one after the other, up to the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m prefect_dvc.terminal", description="Bring stages up to date.")
    parser.add_argument("targets", nargs="+", help="stages of dvc.yaml")
    signal.signal(signal.SIGTERM, stop)
    try:
        for target in parser.parse_args(arguments).targets:
            bring_up_to_date(target)
    except (GraphError, PipelineError, DvcException) as error:
        sys.exit(f"terminal: {error}")
    except KeyboardInterrupt:
        sys.exit("Stopped. Everything that was finished is kept; the same command goes on from here.")


if __name__ == "__main__":
    main()
