"""The resources of a worker: the cards that torch finds on its machine, and the labels that its owner sets.

    gpu: 2, gpu_memory: [16.9GB, 85GB], cpus: 16, memory: 137.4GB, tpu: 4

A worker writes this text into the description of its own queue in the work pool, where the caller reads it. Its owner
changes it by PREFECT_DVC_RESOURCES, in the form that dvc.yaml has: `{gpu: 1, gpu_memory: 16GB, licence: 2}`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from prefect_dvc.errors import Refusal
from prefect_dvc.execution.slots import main_memory, processors
from prefect_dvc.settings import resources
from prefect_dvc.settings.resources import CPUS, GPU, GPU_MEMORY, MEMORY, NeedsError, Resources
from prefect_dvc.settings.yaml_reader import read_yaml

GIVEN = "PREFECT_DVC_RESOURCES"  # the worker's setting
CAPACITY = "PREFECT_DVC_CAPACITY"  # set by the worker for its flow runs
PER_CARD = "PREFECT_DVC_SLOTS_PER_CARD"  # the worker's setting
# In a process of its own: torch takes seconds and much memory, and no other process here needs it.
PROBE = """
import json
try:
    import torch
except ImportError:
    print("[]")
else:
    cuda = [torch.cuda.get_device_properties(card).total_memory for card in range(torch.cuda.device_count())]
    mps = [torch.mps.recommended_max_memory()] if not cuda and torch.backends.mps.is_available() else []
    print(json.dumps(cuda or mps))
"""


class CapacityError(Refusal):
    """A worker's setting is not valid; the message has its name, its value and the form."""


@dataclass(frozen=True)
class Capacity:
    """The resources of a worker: the memory of each card, and the count of everything else."""

    cards: tuple[int, ...] = ()  # bytes; 0 if it is not known
    cpus: int = 0
    memory: int = 0  # bytes
    others: Mapping[str, int] = field(default_factory=dict)  # labels of the owner

    def __str__(self) -> str:
        memories = ", ".join(map(resources.gigabytes, self.cards))
        parts = [f"{GPU}: {len(self.cards)}", *[f"{GPU_MEMORY}: [{memories}]"] * any(self.cards)]
        return ", ".join([*parts, resources.written({CPUS: self.cpus, MEMORY: self.memory, **self.others})])

    def lacks(self, wanted: Resources) -> bool:
        """Return whether it has less than a stage needs."""
        enough = len(self.fitting(wanted)) >= wanted.get(GPU, 0)
        counts = {CPUS: self.cpus, MEMORY: self.memory, **self.others}
        return not enough or any(
            counts.get(name, 0) < count for name, count in wanted.items() if name not in (GPU, GPU_MEMORY)
        )

    def fitting(self, wanted: Resources) -> list[int]:
        """List the numbers of the cards with enough memory."""
        return [number for number, memory in enumerate(self.cards) if memory >= wanted.get(GPU_MEMORY, 0)]

    def slots(self, per_card: int) -> int:
        """Return how many stages the worker takes at a time: one a card, or a label, times `per_card` for cards."""
        return max([1, per_card * len(self.cards), *self.others.values()])


def read_capacity(text: str) -> Capacity:
    """Read the text of `str`, or a setting of that form; without a number of cards there is none.

    Raises CapacityError.
    """
    try:
        return _capacity(_read(text))
    except yaml.YAMLError:
        problem = "it is not YAML"
    except (NeedsError, TypeError, ValueError) as error:
        problem = str(error)
    raise CapacityError(f"'{text}' is not a list of resources: {problem}; write {{gpu: 1, gpu_memory: 16GB}}.")


def _read(text: str) -> dict[str, object]:
    return dict(read_yaml(text if text.startswith("{") else f"{{{text}}}"))


def _capacity(content: dict[str, object]) -> Capacity:
    number, memories = content.pop(GPU, 0), content.pop(GPU_MEMORY, None)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise NeedsError(f"{GPU} is {number!r}; it must be a whole number")
    each = memories if isinstance(memories, list) else [memories] * number
    if len(each) != number:
        raise NeedsError(f"{GPU_MEMORY} is {memories!r}; give one for each of {number} cards")
    cards = tuple(
        0 if size is None else resources.read_resources({GPU: 1, GPU_MEMORY: size})[GPU_MEMORY] for size in each
    )
    counts = resources.read_resources({name: amount for name, amount in content.items() if amount != 0})
    return Capacity(cards, counts.get(CPUS, 0), counts.get(MEMORY, 0), resources.labels(counts))


def measured() -> Capacity:
    """Return the resources of this machine; torch is asked for its cards unless the owner names some, or the cpu."""
    given = os.environ.get(GIVEN, "")
    try:
        own = read_capacity(given)
    except CapacityError as error:
        raise CapacityError(f"{GIVEN}: {error}") from None
    cards = own.cards if GPU in _read(given) or os.environ.get("DISTILLERY_DEVICE") == "cpu" else _cards()
    return Capacity(cards, own.cpus or processors(), own.memory or main_memory(), own.others)


def _cards() -> tuple[int, ...]:
    done = subprocess.run([sys.executable, "-P", "-c", PROBE], capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise CapacityError(f"torch could not list its cards: {''.join(last)}; {GIVEN}='gpu: 0' leaves it out.")
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def slots_per_card() -> int:
    """Return the worker's PER_CARD; raises NeedsError."""
    return resources.whole(PER_CARD, 1, "stages for each card; 1 is the default")
