"""The needs and the limits of a stage, as its `meta` in dvc.yaml has them.

    meta:
      resources: {gpu: 1, gpu_memory: 16GB, cpus: 4, memory: 8GB}     or only: gpu
      retries: 2          attempts after the first one has failed
      timeout: 3h         of one attempt, from the start of the command
      priority: 1         a stage with more goes first if several wait
      mutex: corpus       stages with the same name never run at the same time, not even in two runs of a workspace

`gpu_memory` is that of each card, `memory` that of the machine. Any other name in `resources` is a label that a worker
must have, such as `tpu` or `licence`. A stage with a label or with `gpu` may run on a worker.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prefect_dvc.errors import Refusal

GPU, GPU_MEMORY, CPUS, MEMORY = "gpu", "gpu_memory", "cpus", "memory"
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LABEL = re.compile(r"[A-Za-z][\w.-]*")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")

Resources = Mapping[str, int]  # bytes for both memories, otherwise a count


class NeedsError(Refusal, ValueError):
    """`meta` has a value of another form; the message has the key, the value and the form."""


@dataclass(frozen=True)
class Needs:
    """The needs of a stage; a stage without `meta` has none."""

    resources: Resources = field(default_factory=dict)
    retries: int = 0
    timeout: float | None = None  # seconds
    priority: int = 0
    mutex: str | None = None

    @property
    def labels(self) -> dict[str, int]:
        """Return the resources that a worker must have: the count of GPUs and of each label."""
        return labels(self.resources)


def labels(resources: Resources) -> dict[str, int]:
    """Return `resources` without the memories and the processors, which every machine has."""
    return {name: count for name, count in resources.items() if name not in (GPU_MEMORY, CPUS, MEMORY)}


def read_needs(meta: object) -> Needs:
    """Read the needs of a stage from its `meta`, whose other keys are left to others. Raises NeedsError.

    Example:
        >>> read_needs({"resources": {"gpu": 1, "gpu_memory": "16GB"}, "timeout": "3h"})
        Needs(resources={'gpu': 1, 'gpu_memory': 16000000000}, retries=0, timeout=10800, priority=0, mutex=None)
    """
    if not isinstance(meta, Mapping):
        return Needs()
    mutex, timeout = meta.get("mutex"), meta.get("timeout")
    if mutex is not None and not (isinstance(mutex, str) and LABEL.fullmatch(mutex)):
        raise NeedsError(f"mutex is {mutex!r}; it must be a name of letters, digits, '_', '-' and '.'.")
    return Needs(
        resources=read_resources(meta.get("resources")),
        retries=_integer("retries", meta.get("retries", 0), least=0),
        timeout=None if timeout is None else _measure("timeout", timeout, SECONDS, "90s, 45m or 3h"),
        priority=_integer("priority", meta.get("priority", 0)),
        mutex=mutex,
    )


def read_resources(given: object) -> dict[str, int]:
    """Read `resources`: one label, a list of labels, or amounts by name; raises NeedsError."""
    if given is None:
        return {}
    amounts = [given] if isinstance(given, str) else given
    names: list[Any] = list(amounts) if isinstance(amounts, list | Mapping) else [None]
    if not all(isinstance(name, str) and LABEL.fullmatch(name) for name in names):
        raise NeedsError(f"resources are {given!r}; write a name as in gpu, or amounts as in {{gpu: 1, memory: 8GB}}.")
    amounts = amounts if isinstance(amounts, Mapping) else dict.fromkeys(names, 1)
    found = {
        name: round(_measure(name, amount, BYTES, "16GB or 500MB"))
        if name in (GPU_MEMORY, MEMORY)
        else _integer(name, amount, least=1)
        for name, amount in amounts.items()
    }
    if GPU_MEMORY in found and GPU not in found:
        raise NeedsError(f"resources have {GPU_MEMORY} without {GPU}; write {{gpu: 1, {GPU_MEMORY}: ...}}.")
    return found


def written(resources: Resources) -> str:
    """Write resources as in dvc.yaml, each memory in GB: `gpu: 1, gpu_memory: 16GB`."""
    return ", ".join(
        f"{name}: {gigabytes(amount) if name in (GPU_MEMORY, MEMORY) else amount}" for name, amount in resources.items()
    )


def gigabytes(amount: int) -> str:
    """Write bytes in GB, rounded down to a tenth, so that nobody is promised more than there is."""
    return f"{amount // 10**8 / 10:g}GB"


def whole(name: str, default: int, meaning: str) -> int:
    """Return the whole number above 0 that an environment variable sets. Raises NeedsError."""
    given = os.environ.get(name, str(default))
    if not given.isdecimal() or int(given) < 1:
        raise NeedsError(f"{name}={given!r} is not a number of {meaning}.")
    return int(given)


def _integer(name: str, value: object, least: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise NeedsError(f"{name} is {value!r}; it must be a whole number.")
    if least is not None and value < least:
        raise NeedsError(f"{name} is {value!r}; it must be {least} or more.")
    return value


def _measure(name: str, value: object, units: Mapping[str, int], example: str) -> float:
    """Return a text such as 16GB in the smallest unit; a number without a unit could mean anything."""
    found = NUMBER.fullmatch(value) if isinstance(value, str) else None
    unit = (found[2] if found[2] in units else found[2].upper()) if found else ""
    if found is None or unit not in units or float(found[1]) == 0:
        raise NeedsError(f"{name} is {value!r}; write a number with its unit, as in {example}.")
    return float(found[1]) * units[unit]
