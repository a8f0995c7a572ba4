"""The machine that this process runs on."""

import os
import platform


def cores() -> int:
    """Count the cores that this process may use; all of them if the system does not tell (macOS, Windows)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Describe cores, memory and processor, without the machine's name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores()} cores, {memory:.0f} GiB, {platform.machine()}"
