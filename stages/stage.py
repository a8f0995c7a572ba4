"""The frame of every stage: it reads parameters, writes counters, and reports bad input in one clear line.

def main() -> None:
    with stage("clean", unit="sentences") as (params, counters):
        ...
"""

import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.io.checksums import Ledger, ledger
from sentence_distillery.io.contents import SEAL, Counted, seal
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import options_from
from sentence_distillery.runtime import cache
from sentence_distillery.runtime.process import end_with_caller
from sentence_distillery.teachers.options import TeacherError
from stages import paths
from stages.lock import HeldError, held
from stages.params import PARAMS, Params, load_params, read_params
from stages.places import of_a_place, open_standard_streams


class Files(Counted):
    """The counters of a stage with the SHA-256 of each file that it wrote."""

    files: dict[str, str]


@contextmanager
def stage(name: str, unit: str, largest: str = "the sizes in its section") -> Iterator[tuple[Params, Counters]]:
    """Run a stage's body between reading params.yaml and writing `reports/counters/<name>.json`.

    `largest` are the parameters that decide how much memory it needs, for the message if there is not enough.

    Seconds and memory are in `reports/costs/<name>.json`, which is not an output: it differs from run to run.

    InputError ends the process with its message and status 1, and with the command that rebuilds the file if a stage
    wrote it; any other error keeps its traceback. A second process of the same stage in this checkout is refused; a
    process that DVC started ends with DVC.
    """
    open_standard_streams()
    logging.basicConfig(level=logging.INFO, format=f"{name}: %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, _stop)
    if "DVC_STAGE" in os.environ:
        end_with_caller()
    os.environ.setdefault(cache.VARIABLE, str(paths.DATA_CHECKPOINTS.absolute()))
    started = time.monotonic()
    target = paths.COUNTERS / f"{name}.json"
    counters = Counters(unit)
    try:
        with held(paths.COUNTERS / f".{name}.lock", f"process {os.getpid()}"):
            target.unlink(missing_ok=True)  # a failed stage must not leave the counts of an earlier run
            params = load_params()
            with ledger(written_before()) as files, options_from("params.yaml"):
                yield params, counters
                counted = counters.summary() | {"files": of_run(files)}
                write_json(target, counted | {SEAL: seal(counted)})
                write_json(paths.COSTS / f"{name}.json", _cost(started) | counters.costs)
    except HeldError as error:
        sys.exit(f"{name}: it already runs in this workspace ({error}); wait until it ends, or stop it.")
    except TeacherError as error:
        sys.exit(f"{name}: {error}{_place(error)}")
    except InputError as error:
        sys.exit(f"{name}: {error}{_remedy(error)}")
    except OSError as error:
        if (problem := of_a_place(error)) is None:
            raise
        sys.exit(f"{name}: {problem}")
    except MemoryError as error:
        sys.exit(f"{name}: {_out_of_memory(largest, error)}")
    logging.getLogger("stages").info("%s (%.0f s)", counters.text(), time.monotonic() - started)


def written_before() -> dict[str, str]:
    """Return the SHA-256 of each file that the stages of this checkout have written, by its path."""
    found: dict[str, str] = {}
    for path in sorted(paths.COUNTERS.glob("*.json")):
        with suppress(InputError):  # only those that read damaged counters are stopped by them
            found |= read_json(path, Files)["files"]
    return found


def of_run(files: Ledger) -> dict[str, str]:
    """Return the SHA-256 of each output that the stage wrote; checkpoints, costs and saved figures still change."""
    return files.checksums(left_out=(paths.DATA_CHECKPOINTS, paths.MODEL_CHECKPOINTS, paths.COSTS, paths.RUNS))


def _remedy(error: InputError) -> str:
    """Name the command that rebuilds the wrong file, if it is an output of a stage."""
    if error.path is None or any(map(error.path.is_relative_to, paths.BROUGHT)):
        return ""
    return " Here `dvc repro` rebuilds it." if any(map(error.path.is_relative_to, paths.WRITTEN)) else ""


def _place(error: TeacherError) -> str:
    """Return a sentence that names each parameter with the value in `error`, or nothing."""
    names = [
        f"{place}.{error.field}"
        for place, section in _sections(read_params(), "")
        if error.reference in (section.get(kind) for kind in ("reference", "function", "vectors"))
        and section.get(error.field) == error.value
    ]
    return f" {PARAMS} has it as {', '.join(names)}." if names else ""


def _sections(value: object, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each mapping of params.yaml as it is written, with its key, such as `encoders.mpnet`."""
    if isinstance(value, dict):
        yield place, value
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for name, each in items:
        yield from _sections(each, f"{place}.{name}".removeprefix("."))


def _out_of_memory(largest: str, error: MemoryError) -> str:
    """Say how large the stage had become, and which options make it smaller."""
    peak = _cost(0.0)["peak_memory_mb"]
    return f"out of memory at {peak:,.0f} MB ({error or 'no more available'}). Lower {largest} of {PARAMS}."


def _stop(signum: int, frame: object) -> None:
    """Exit as Python does on Ctrl-C, so that partial files are removed and child processes are reaped."""
    sys.exit(128 + signum)


def _cost(started: float) -> dict[str, float]:
    """Return seconds since `started` and the peak memory of this process and its children, in MB."""
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"seconds": round(time.monotonic() - started, 2), "peak_memory_mb": round(peak / 1024, 1)}
