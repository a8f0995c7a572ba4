"""The cards and labels of a machine that a stage holds while it runs: no other stage of this user gets them meanwhile.

Several workers may share a machine, so the locks are files. A stage gets all that it asks for or waits with nothing.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from prefect_dvc.settings.resources import GPU, Resources, labels
from prefect_dvc.system.process import held, hold_one
from prefect_dvc.workers.capacity import Capacity

VISIBLE = "CUDA_VISIBLE_DEVICES"
POLL_SECONDS = 0.5


def locks() -> Path:
    """Return the directory of this user's locks on this machine."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")  # which machines may share
    return cache / "prefect-dvc/cards" / socket.gethostname()


@contextmanager
def holding(
    capacity: Capacity, wanted: Resources, holder: str, per_card: int, log: Callable[[str], None]
) -> Iterator[dict[str, str]]:
    """Wait for the cards of a stage, and hold them; yield the environment that shows the stage its cards and no other.

    The worker must not lack any of what is wanted. `per_card` stages share a card; those who wait read `holder`.
    """
    told = False
    while True:
        with ExitStack() as stack:
            with held(locks() / "all", holder, wait=True):  # one looks at a time
                busy, cards = _taken(stack, capacity, wanted, holder, per_card)
            if not busy:
                yield {VISIBLE: ",".join(cards)} if capacity.cards else {}
                return
        if not told:
            log(f"Waiting for {', '.join(busy)}.")
            told = True
        time.sleep(POLL_SECONDS)


def _taken(
    stack: ExitStack, capacity: Capacity, wanted: Resources, holder: str, per_card: int
) -> tuple[list[str], list[str]]:
    """Take the locks of all that is wanted; return the labels of which too few are free, and the cards by name."""
    busy, cards = [], list[str]()
    names = [_name_of(number) for number in capacity.fitting(wanted)]
    for label, count in labels(wanted).items():
        places = (
            [(name, [f"{GPU}-{name}.{slot}" for slot in range(per_card)]) for name in names]
            if label == GPU
            else [(str(unit), [f"{label}-{unit}"]) for unit in range(capacity.others[label])]
        )
        free = (name for name, files in places if not hold_one(stack, [locks() / file for file in files], holder))
        got = list(islice(free, count))  # and not one more
        if len(got) < count:
            busy.append(f"{label}: {count}")
        elif label == GPU:
            cards = got
    return busy, cards


def _name_of(number: int) -> str:
    """Return CUDA's name of a card that torch numbers; the worker itself may have only some."""
    visible = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return visible[number] if number < len(visible) else str(number)
