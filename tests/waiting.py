"""Waiting in tests: for a condition, never for a time in which a machine should have met it."""

import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

Value = TypeVar("Value")

LIMIT = 900.0  # seconds; no test comes near it, it only ends one that hangs
SERVER_PAUSE = 0.2  # seconds between two questions to a server that has to start, or to work, meanwhile
FOREVER = 3600  # seconds that a process sleeps if a test is to end it; more than LIMIT, or it would end by itself


def wait_until(
    condition: Callable[[], Value], what: str, process: subprocess.Popen[Any] | None = None, pause: float = 0.005
) -> Value:
    """Return the first true value of `condition`.

    Args:
        condition: Called again and again.
        what: The event that the test waits for, named in the error.
        process: The process that causes the event; if it ends before, waiting is pointless.
        pause: Seconds between two calls; SERVER_PAUSE if a call costs a server, or us, much.

    Raises:
        AssertionError: `process` ended before, or LIMIT has passed.

    Example:
        wait_until(Path("started").exists, "the stage has started", process)
    """
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        assert process is None or process.poll() is None, f"The process ended before: {what}"
        assert time.monotonic() < end, f"Not within {LIMIT:.0f} s: {what}"
        time.sleep(pause)
    return value
