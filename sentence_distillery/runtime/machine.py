"""What the machine has."""

import os


def cores() -> int:
    """Processor cores that this process may use; all of them where the system does not tell (macOS, Windows)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
