"""The lines of a run on a terminal.

[ 8/15] soft_labels: 2,591 sentences (37 s)             a stage that prints its own result
[ 9/15] train: Ran, its command ran (3 s)               one that does not
train | epoch 1: 0.83                                   other lines of a stage
"""

import sys
import threading

from prefect_dvc.execution.outcome import MEANING, Outcome

COMMAND = "> "  # begins the line of a command, which the error of a stage has, too


class Progress:
    """How many stages have begun, of `total`.

    `brief` leaves out stages that were up to date, and the outcome of those that print their own result.
    """

    def __init__(self, total: int, *, brief: bool = False) -> None:
        self.total, self.unchanged = total, 0
        self._brief, self._width = brief, max(2, len(str(total)))
        self._numbers: dict[str, int] = {}
        self._shown = set[str]()  # stages that have printed their own result
        self._lock = threading.Lock()

    def line(self, stage: str, text: str) -> None:
        """Show a line of a stage."""
        if text.startswith(COMMAND):
            return
        if text.startswith(f"{stage}: "):
            self._shown.add(stage)
            self._print(f"{self._number(stage)} {text}")
        else:
            self._print(f"{stage} | {text}")

    def ended(self, stage: str, outcome: Outcome, seconds: float) -> None:
        """Show that a stage is up to date."""
        number = self._number(stage)
        with self._lock:
            self.unchanged += outcome is Outcome.CACHED
        if not self._brief or (stage not in self._shown and outcome is not Outcome.CACHED):
            self._print(f"{number} {stage}: {outcome}, {MEANING[outcome]} ({seconds:.0f} s)")

    def _number(self, stage: str) -> str:
        with self._lock:
            return f"[{self._numbers.setdefault(stage, len(self._numbers) + 1):{self._width}}/{self.total}]"

    def _print(self, line: str) -> None:
        with self._lock:  # text and newline together, or lines of two stages run into one another
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
