"""Map a function over shards, as the options `Shards` say; the results are the same, in the same order.

    processes: 1                 in this process, one shard after the other
    processes: 4                 in four processes; null: one for each core
    dask: tcp://10.0.0.1:8786    on that Dask cluster, whatever `processes` says

Each shard travels to its worker and its result comes back, so a worker needs no file of this machine: only the same
code and packages (the cluster: `dask worker tcp://… --nthreads 1` in an environment with the same packages), and
whatever else the function reads there. A worker with other code or versions is refused. The function must be in a
module that workers can import, so not in the module that is run. What it loads stays loaded for the next shard.

Both ends of a Dask connection trust each other with pickles: give only the address of a scheduler that is yours.
"""

import os
import pickle
import re
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.machine import cores
from sentence_distillery.runtime.process import end_with_caller
from sentence_distillery.runtime.revision import differences, stamp

if TYPE_CHECKING:  # workers need not load these
    from sentence_distillery.runtime.options import Shards

Item = TypeVar("Item")
Result = TypeVar("Result")
Submit = Callable[[Item], Callable[[], Result]]  # hands a shard out at once, and waits for its result when called

AHEAD = 8  # shards handed out to each worker in advance, so that it is busy while the caller writes a file
DASK_SECONDS = 30.0  # without a scheduler or a worker; a nanny restarts a killed worker within a few seconds


@contextmanager
def map_shards(
    function: Callable[[Item], Result], shards: Iterable[Item], where: "Shards"
) -> Iterator[Iterator[Result]]:
    """Yield the iterator over `function(shard)` for each of `shards`; leaving the block ends unfinished work.

    Shards are drawn as workers need them, AHEAD for each at most, so that memory stays bounded. Raises InputError
    if the function does, a worker dies, or the cluster cannot be reached.
    """
    # A cluster is asked for by its address; otherwise processes here, or none for a single one.
    processes = processes_here(where)
    if where.dask:
        with _cluster(function, where.dask) as (submit, workers):
            yield in_order(submit, shards, AHEAD * workers)
    elif processes > 1:
        left = iter(shards)
        first = list(islice(left, processes))  # never more workers than shards
        with _pool(function, len(first) or 1) as submit:
            yield in_order(submit, chain(first, left), AHEAD * processes)
    else:
        yield map(function, shards)


def processes_here(where: "Shards") -> int:
    """Count the processes that may run here: `processes`, or one for each core."""
    return where.processes or cores()


def in_order(submit: Submit[Item, Result], shards: Iterable[Item], ahead: int) -> Iterator[Result]:
    """Yield the results in the order of `shards`, with `ahead` shards handed out at most."""
    pending: deque[Callable[[], Result]] = deque()
    for shard in shards:
        pending.append(submit(shard))
        if len(pending) >= ahead:
            yield pending.popleft()()
    while pending:
        yield pending.popleft()()


@contextmanager
def _pool(function: Callable[[Item], Result], processes: int) -> Iterator[Submit[Item, Result]]:
    """Yield a function that hands a shard to one of `processes` workers, for the block.

    The workers are started anew: a forked child would hold the locks of torch's and Arrow's threads, but not the
    threads that release them. loky's do not import the main module, so that a script needs no guard.
    """
    from loky import ProcessPoolExecutor

    # One BLAS thread, since more would spin on the other workers' cores, from the import of NumPy on.
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}
    pool: Any = ProcessPoolExecutor(processes, initializer=_begin, initargs=(os.getpid(),), env=one_thread)
    try:
        yield lambda shard: partial(_finished, pool.submit(function, shard))
    finally:
        pool.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """Prepare a worker process for its shards; it ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers
    end_with_caller()
    if os.getppid() != parent:  # which has ended while this process began
        os._exit(1)


def _finished(future: "Future[Result]") -> Result:
    """Wait for a result of a worker process."""
    from loky.process_executor import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool as error:
        raise InputError(
            f"A worker process died ({_endings(str(error))}). If the machine is short of memory, lower "
            "shards.processes (1 works without further processes); then run again."
        ) from error


def _endings(message: str) -> str:
    """Return the signals and exit statuses that loky names in an error, each once, as in "SIGKILL"."""
    named = re.search(r"exit codes of the workers are \{(.*?)\}", message)
    found = re.findall(r"\w+(?=\(-?\d+\))", named[1]) if named else []
    return ", ".join(dict.fromkeys(found)) or message.splitlines()[0]


@contextmanager
def _cluster(function: Callable[[Item], Result], address: str) -> Iterator[tuple[Submit[Item, Result], int]]:
    """Yield a function that hands a shard to the cluster at `address`, and the number of its workers' threads."""
    from distributed import Client  # takes half a second, needed only with a cluster

    try:
        client: Any = Client(address, timeout=DASK_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"shards.dask = {address}: no Dask scheduler answers there ({error}). Start one with `dask scheduler`, "
            "or set shards.dask to null to work on this machine."
        ) from error
    with client:
        _wait_for_worker(client, address)
        call, home = pickle.dumps(function), stamp(function)

        def submit(shard: Item) -> Callable[[], Result]:
            # As bytes, since Dask looks for its own keys in lists of strings.
            return partial(_result, client, client.submit(_apply, home, call, pickle.dumps(shard), pure=False), address)

        yield submit, sum(client.nthreads().values())


def _apply(home: dict[str, str], call: bytes, shard: bytes) -> Any:
    """Apply the function to a shard, on a worker of the cluster; raises InputError if home would get something else."""
    if different := differences(home):
        from distributed import get_worker

        raise InputError(
            f"The Dask worker {get_worker().address} on {socket.gethostname()} differs: {'; '.join(different)}. "
            "Bring it to home's revision and versions, start it again, then run again."
        )
    return pickle.loads(call)(pickle.loads(shard))


def _result(client: Any, future: Any, address: str) -> Any:
    """Wait for a result from the cluster while it has workers; Dask itself would wait without any."""
    from distributed import CancelledError, KilledWorker, wait
    from distributed.comm.core import CommClosedError

    gone = f"shards.dask = {address}: the scheduler is gone. Start it, then run again."
    while True:
        # Each error of the cluster says what to do, since its own traceback is of another machine.
        try:
            wait(future, timeout=DASK_SECONDS)  # type: ignore[no-untyped-call]
            break
        except TimeoutError:  # of this wait; a shard's own TimeoutError comes with its result
            _wait_for_worker(client, address)
        except (CancelledError, OSError) as error:
            raise InputError(gone) from error
    try:
        return future.result()
    except CommClosedError as error:  # an OSError, which a stage would take for one of its output
        raise InputError(gone) from error
    except KilledWorker as error:
        raise InputError(
            f"shards.dask = {address}: {error.allowed_failures + 1} workers died on the same shard, the last one at "
            f"{error.last_worker.address}. Look at its log (memory?), then run again."
        ) from error
    except ModuleNotFoundError as error:
        raise InputError(
            f"shards.dask = {address}: a worker has no module '{error.name}'. Start the workers in an "
            "environment with the same packages."
        ) from error


def _wait_for_worker(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=DASK_SECONDS)
    except (TimeoutError, OSError) as error:
        raise InputError(
            f"shards.dask = {address}: the scheduler has no workers. Start one with `dask worker {address}` in an "
            "environment with the same packages, or set shards.dask to null to work on this machine."
        ) from error
