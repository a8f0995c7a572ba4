"""Shards in processes and on Dask: the same results as here, and the errors if a worker or a scheduler dies."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
from distributed import Client

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime import shards
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.shards import map_shards
from tests.dask_cluster import cluster, scheduler
from tests.sockets import listening
from tests.waiting import FOREVER, LIMIT, wait_until
from tests.workspace import ROOT, worker_processes

HERE = Shards(processes=1, dask=None)
TWO = Shards(processes=2, dask=None)


def square(number: int) -> int:
    time.sleep(0.02 * (number % 3))  # so that they do not end in the order in which they begin
    return number * number


def refuse(number: int) -> int:
    raise InputError(f"shard {number}: give another")


def divide(number: int) -> float:
    return 1 / number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(marker: Path, number: int) -> int:
    if number == 2 and not marker.exists():
        marker.touch()
        die(number)
    return number


def results(function: object, items: range, where: Shards) -> list[object]:
    with map_shards(function, items, where) as mapped:  # type: ignore[arg-type, var-annotated]
        return list(mapped)


def wait_until_gone(pids: list[int]) -> None:
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), f"the end of {pids}")


def test_results_in_order(elsewhere: dict[str, object]) -> None:
    expected = [number * number for number in range(12)]
    assert results(square, range(12), HERE) == expected
    assert results(square, range(12), Shards.model_validate(elsewhere)) == expected
    assert results(square, range(0), Shards.model_validate(elsewhere)) == []


def test_shards_are_drawn_as_they_are_needed() -> None:
    """AHEAD for each worker, so that memory does not grow with the corpus; and no worker is left behind."""
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    with map_shards(square, items(), TWO) as mapped:
        for count, _ in enumerate(mapped, start=1):
            assert len(drawn) < count + 2 * shards.AHEAD
            if count == 5:
                break
        workers = worker_processes(os.getpid())
        assert len(workers) == 2
    assert not worker_processes(os.getpid())
    assert len(drawn) < 5 + 2 * shards.AHEAD
    with map_shards(square, range(1), Shards(processes=8, dask=None)) as mapped:  # no more processes than shards
        assert list(mapped) == [0]
        assert len(worker_processes(os.getpid())) == 1


@pytest.mark.fault(9)
def test_bad_input_in_a_worker(elsewhere: dict[str, object]) -> None:
    """An input error has the same message wherever it is found."""
    with pytest.raises(InputError, match=r"^shard 0: give another$"):
        results(refuse, range(3), Shards.model_validate(elsewhere))


def test_an_error_of_the_program_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        results(divide, range(3), TWO)
    assert "return 1 / number" in str(caught.value.__cause__)


@pytest.mark.fault(12)
def test_a_killed_process() -> None:
    """A worker that dies ends the stage with one line, and the other worker."""
    with pytest.raises(InputError, match=r"A worker process died \(SIGKILL\)\. .* lower shards\.processes"):
        results(die, range(8), TWO)
    assert not worker_processes(os.getpid())


@pytest.mark.fault(12)
def test_a_killed_worker_of_the_cluster(dask: tuple[str, list[int]], tmp_path: Path) -> None:
    """Dask gives the shard to another worker, and gives up if that dies, too."""
    where = Shards(processes=1, dask=dask[0])
    assert results(partial(die_once, tmp_path / "died"), range(5), where) == [0, 1, 2, 3, 4]
    assert (tmp_path / "died").exists()
    with pytest.raises(InputError, match=r"4 workers died on the same shard, the last one at tcp://127\.0\.0\.1"):
        results(die, range(1), where)
    assert results(square, range(3), where) == [0, 1, 4]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.fault(3)
def test_workers_end_with_the_stage(number: signal.Signals, tmp_path: Path) -> None:
    """Whatever ends a stage ends its workers, those in the midst of a shard included."""
    # Nothing tells a sleeper that its parent has been killed.
    seconds = 1 if number is signal.SIGKILL else FOREVER
    program = (
        "import time\n"
        "from sentence_distillery.runtime.options import Shards\n"
        "from sentence_distillery.runtime.shards import map_shards\n"
        "from stages.stage import stage\n"
        'with stage("thing", unit="things") as (params, counters):\n'
        f"    items = [0.01, 0.01] + [{seconds}] * 999\n"
        "    with map_shards(time.sleep, items, Shards(processes=2, dask=None)) as mapped:\n"
        "        next(mapped)\n"
        '        open("started", "w").close()\n'
        "        list(mapped)\n"
    )
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    wait_until((tmp_path / "started").exists, "the first shard is done", process)
    workers = worker_processes(process.pid)
    assert len(workers) == 2
    process.send_signal(number)
    stderr = process.communicate(timeout=LIMIT)[1].decode()
    assert process.returncode == (143 if number is signal.SIGTERM else -number)
    wait_until_gone(workers)
    assert "SpawnProcess" not in stderr  # the workers send nothing


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "DASK_SECONDS", 0.5)
    message = r"^shards\.dask = tcp://127\.0\.0\.1:1: no Dask scheduler answers there \(.*\)\. Start one with"
    with pytest.raises(InputError, match=message):
        results(square, range(3), Shards(processes=1, dask="tcp://127.0.0.1:1"))


def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Client.wait_for_workers
    monkeypatch.setattr(shards, "DASK_SECONDS", LIMIT)  # for the connection, which has to come about
    monkeypatch.setattr(Client, "wait_for_workers", lambda client, count, timeout: wait(client, count, timeout=0.5))
    message = r"the scheduler has no workers\. Start one with `dask worker tcp://"
    with scheduler(tmp_path) as (address, _), pytest.raises(InputError, match=message):
        results(square, range(3), Shards(processes=1, dask=address))


@pytest.mark.fault(12)
def test_a_scheduler_that_dies(tmp_path: Path) -> None:
    """The caller that waits for a shard gets the error."""
    with (
        cluster(tmp_path) as (address, pids),
        map_shards(time.sleep, [0, 60], Shards(processes=1, dask=address)) as all,
    ):
        next(all)
        os.kill(pids[0], signal.SIGKILL)
        with pytest.raises(InputError, match=r"the scheduler is gone\. Start it, then run again"):
            next(all)


@pytest.mark.fault(36)
def test_a_worker_with_other_code(tmp_path: Path) -> None:
    """One changed line on a worker changed most sentences, unnoticed; another version could."""
    for package in ("sentence_distillery", "tests"):
        shutil.copytree(
            ROOT / package, tmp_path / "code" / package, ignore=shutil.ignore_patterns("*.npz", "__pycache__")
        )
    with (tmp_path / "code/sentence_distillery/corpus/cleaning.py").open("a", encoding="utf-8") as file:
        file.write("\nLATER = True\n")
    with (tmp_path / "code/tests/sentence_distillery/runtime/test_shards.py").open("a", encoding="utf-8") as file:
        file.write("\nLATER = True\n")
    (tmp_path / "code/rensa-0.0.dist-info").mkdir()
    (tmp_path / "code/rensa-0.0.dist-info/METADATA").write_text("Name: rensa\nVersion: 0.0\n", encoding="utf-8")
    told = (
        r"^The Dask worker tcp://127\.0\.0\.1:\d+ on .* differs: "
        rf"rensa {version('rensa')} at home, 0\.0 on the worker; "
        r"code of sentence_distillery \w{12} at home, \w{12} on the worker; "
        r"code of tests\.sentence_distillery\.runtime\.test_shards \w{12} at home, \w{12} on the worker\. "
        r"Bring it to home's revision"
    )
    with cluster(tmp_path, tmp_path / "code") as (address, _), pytest.raises(InputError, match=told):
        results(square, range(3), Shards(processes=1, dask=address))


def test_nothing_listens_beyond_loopback(dask: tuple[str, list[int]]) -> None:
    address, pids = dask
    with map_shards(square, range(3), Shards(processes=1, dask=address)) as mapped:
        assert list(mapped) == [0, 1, 4]
        assert not listening(os.getpid())
        found = [listening(pid) for pid in (*pids, *worker_processes(pids[1]))]
    assert len(found) == 4
    assert set.union(*found) == {"0100007F"}
