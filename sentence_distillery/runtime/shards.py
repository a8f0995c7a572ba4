"""Map a function over shards, as the options `Shards` say; the results are the same, in the same order.

    processes: 1                 in this process, one shard after the other
    processes: 4                 in four processes; null: one for each core
    dask: tcp://10.0.0.1:8786    on that Dask cluster, whatever `processes` says

Each shard travels to its worker and its result comes back, so a worker needs no file of this machine: only the same
code and packages (the cluster: `dask worker tcp://… --nthreads 1` in an environment with the same packages), and
whatever else the function reads there. A worker with other code or versions is refused. The function must be in a
module that workers can import, so not in the module that is run. What it loads stays loaded for the next shard.

Data that take long to load can be loaded once for all processes of this machine: `prepare()` is called while they
start, and returns a function that each of them calls before its first shard. They map its arrays, and the function's,
instead of copying them.

Both ends of a Dask connection trust each other with pickles: give only the address of a scheduler that is yours.
"""

import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedRWPair
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.places import temporary_files
from sentence_distillery.runtime.machine import cores
from sentence_distillery.runtime.revision import differences, stamp

if TYPE_CHECKING:  # workers need not load these
    from sentence_distillery.runtime.options import Shards

Item = TypeVar("Item")
Result = TypeVar("Result")
Submit = Callable[[Item], Callable[[], Result]]  # hands a shard out at once, and waits for its result when called
Prepare = Callable[[], Callable[[], None]]
Places = list[tuple[int, int]]  # begin and end of the pieces of a file

AHEAD = 8  # shards handed out to each worker in advance, so that it is busy while the caller writes a file
ALIGNMENT = 64  # bytes, of each piece of a file that is mapped
DASK_SECONDS = 30.0  # without a scheduler or a worker; a nanny restarts a killed worker within a few seconds


@contextmanager
def map_shards(
    function: Callable[[Item], Result], shards: Iterable[Item], where: "Shards", prepare: Prepare | None = None
) -> Iterator[Iterator[Result]]:
    """Yield the iterator over `function(shard)` for each of `shards`; leaving the block ends unfinished work.

    Shards are drawn as workers need them, AHEAD for each at most, so that memory stays bounded. Raises InputError
    if the function or `prepare` does, a worker dies, or the cluster cannot be reached.
    """
    processes = processes_here(where)
    if where.dask:
        with _cluster(function, where.dask) as (submit, workers):
            yield _in_order(submit, shards, AHEAD * workers)
    elif processes > 1:
        with _pool(function, prepare, processes) as submit:
            yield _in_order(submit, shards, AHEAD * processes)
    else:
        yield map(function, shards)


def processes_here(where: "Shards") -> int:
    """Count the processes that may run here: `processes`, or one for each core."""
    return where.processes or cores()


def _in_order(submit: Submit[Item, Result], shards: Iterable[Item], ahead: int) -> Iterator[Result]:
    """Yield the results in the order of `shards`, with `ahead` shards handed out at most."""
    pending: deque[Callable[[], Result]] = deque()
    for shard in shards:
        pending.append(submit(shard))
        if len(pending) >= ahead:
            yield pending.popleft()()
    while pending:
        yield pending.popleft()()


class _Worker(Generic[Item, Result]):
    """A process that applies the function in the file `program` to one shard at a time.

    It is not forked, since a forked child would hold the locks of torch's and Arrow's threads, but not the threads that
    release them. It is not started by multiprocessing either, whose children first import all that the parent has
    imported. It has its own pipe, so that its death, even halfway through a result, ends that pipe.
    """

    def __init__(self, program: IO[bytes]) -> None:
        ours, theirs = socket.socketpair()
        handles = theirs.fileno(), program.fileno()
        command = [sys.executable, "-c", f"from sentence_distillery.runtime.shards import serve; serve{handles}"]
        # One BLAS thread, since more would spin on the other workers' cores, from the import of NumPy on.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, pass_fds=handles, env=environment)
        theirs.close()  # the child's copy is the only one left
        self._pipe = _file(ours)

    def __call__(self, places: Places, shard: Item) -> Result:
        try:
            _send(self._pipe, (places, shard))
            error, result = _receive(self._pipe)
        except (EOFError, pickle.UnpicklingError, OSError) as lost:
            raise InputError(
                f"A worker process died ({_ending(self.process.wait())}). If the machine is short of memory, lower "
                "shards.processes (1 works without further processes); then run again."
            ) from lost
        if error:
            raise error
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        self.process.wait()
        with suppress(BrokenPipeError):  # for data that the worker did not read any more
            self._pipe.close()


def _file(end: socket.socket) -> BufferedRWPair:
    with end:
        return end.makefile("rwb")


def _send(pipe: BufferedRWPair, value: object) -> None:
    """Pickle `value`, but send the buffers of its tables and arrays directly, since a pickle would copy them."""
    buffers: list[pickle.PickleBuffer] = []
    message = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pickle.dump((message, [buffer.raw().nbytes for buffer in buffers]), pipe)
    for buffer in buffers:
        pipe.write(buffer.raw())
    pipe.flush()


def _receive(pipe: BufferedRWPair) -> Any:
    """Read the next value; raises EOFError if the other side is gone."""
    message, sizes = pickle.load(pipe)
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if pipe.readinto(buffer) < len(buffer):
            raise EOFError
    return pickle.loads(message, buffers=buffers)


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def serve(handle: int, program: int) -> None:
    """Work as a worker process until the pipe ends; both arguments are file descriptors, of the pipe and of a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers
    pipe = _file(socket.socket(fileno=handle))
    with suppress(EOFError, pickle.UnpicklingError, OSError):
        places, shard = _receive(pipe)
        function = _read_program(program, places)
        while True:
            _send(pipe, _answer(function, shard))
            _, shard = _receive(pipe)


def _write_program(file: IO[bytes], function: Callable[[Item], Result], prepare: Prepare | None) -> Places:
    """Write the input of a worker, the buffers of its arrays outside the pickle; return the places of the pieces."""
    buffers: list[pickle.PickleBuffer] = []
    message = pickle.dumps((prepare and prepare(), function), protocol=5, buffer_callback=buffers.append)
    pieces: list[bytes | memoryview] = [message, *(buffer.raw() for buffer in buffers)]
    places = []
    with temporary_files():
        for piece in pieces:
            begin = file.seek(-file.tell() % ALIGNMENT, os.SEEK_CUR)
            places.append((begin, begin + file.write(piece)))
        file.flush()
    return places


def _read_program(file: int, places: Places) -> Callable[[Item], Result]:
    content = memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
    message, *buffers = (content[begin:end] for begin, end in places)
    prepared, function = pickle.loads(message, buffers=buffers)
    if prepared:
        prepared()
    return function  # type: ignore[no-any-return]


def _answer(function: Callable[[Item], Result], shard: Item) -> tuple[Exception | None, Result | None]:
    """Return the error, if any, and the result; an error that is not the user's brings its traceback as text."""
    try:
        return None, function(shard)
    except InputError as error:
        return error, None
    except Exception:
        return RuntimeError(f"in a worker process:\n{traceback.format_exc()}"), None


@contextmanager
def _pool(
    function: Callable[[Item], Result], prepare: Prepare | None, processes: int
) -> Iterator[Submit[Item, Result]]:
    """Yield a function that hands a shard to one of up to `processes` workers, each with a thread, for the block."""
    workers: list[_Worker[Item, Result]] = []
    idle: SimpleQueue[_Worker[Item, Result]] = SimpleQueue()
    threads = ThreadPoolExecutor(processes)

    def work(shard: Item) -> Result:
        worker = idle.get()
        try:
            return worker(written.result(), shard)
        finally:
            idle.put(worker)

    def submit(shard: Item) -> Callable[[], Result]:
        if len(workers) < processes:  # never more workers than shards
            workers.append(_Worker(program))
            idle.put(workers[-1])
        return threads.submit(work, shard).result

    with temporary_files():
        program = tempfile.TemporaryFile()  # noqa: SIM115  # the block closes it
    with program:
        written = threads.submit(_write_program, program, function, prepare)
        try:
            yield submit
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.process.terminate()
            threads.shutdown()
            for worker in workers:
                worker.close()


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

    while True:
        try:
            wait(future, timeout=DASK_SECONDS)  # type: ignore[no-untyped-call]
            break
        except TimeoutError:  # of this wait; a shard's own TimeoutError comes with its result
            _wait_for_worker(client, address)
        except (CancelledError, OSError) as error:
            raise InputError(f"shards.dask = {address}: the scheduler is gone. Start it, then run again.") from error
    try:
        return future.result()
    except CommClosedError as error:  # an OSError, which a stage would take for one of its output
        raise InputError(f"shards.dask = {address}: the scheduler is gone. Start it, then run again.") from error
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
