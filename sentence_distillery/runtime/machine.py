"""The processor cores of the machine."""

import os


def cores() -> int:
    """Count the cores that this process may use; all of them if the system does not tell (macOS, Windows)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
