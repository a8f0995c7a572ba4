"""The limits of stages: their needs, the slots of a run, the capacities of workers, the cards of a machine."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prefect_dvc.execution.commands import Commands
from prefect_dvc.execution.outcome import StageError
from prefect_dvc.execution.run import PipelineError, open_run
from prefect_dvc.execution.slots import Slots, turn
from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.settings.resources import Needs, NeedsError, read_needs, read_resources, written
from prefect_dvc.workers.capacity import Capacity, CapacityError, measured, read_capacity
from prefect_dvc.workers.cards import holding
from prefect_dvc.workers.handoff import hand_off
from tests.waiting import wait_until

from .conftest import make_repository, stage
from .forked import pipeline
from .test_pipeline import last_line

pytestmark = pytest.mark.usefixtures("imported")

GB = 10**9
FLAKY = '''\
"""Fails the first time."""
import sys
from pathlib import Path

first = not Path(sys.argv[1]).exists()
Path(sys.argv[1]).touch()
Path("flaky.txt").touch()
sys.exit(first)
'''


def test_forms_of_needs() -> None:
    """A label alone, as before, a list of labels, and amounts; other keys of `meta` are somebody else's."""
    assert read_needs(None) == read_needs({"owner": "Anna"}) == Needs()
    assert read_needs({"resources": "gpu"}).labels == {"gpu": 1}
    assert read_resources(["gpu", "licence"]) == {"gpu": 1, "licence": 1}
    resources = read_resources({"gpu": 1, "gpu_memory": "15.5 GB", "cpus": 4, "memory": "8gib"})
    assert resources == {"gpu": 1, "gpu_memory": 15_500_000_000, "cpus": 4, "memory": 8 * 2**30}
    assert written(resources) == "gpu: 1, gpu_memory: 15.5GB, cpus: 4, memory: 8.5GB"
    assert [read_needs({"timeout": text}).timeout for text in ("90s", "45m", "1.5h", "2d")] == [90, 2700, 5400, 172_800]


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"resources": 1}, r"resources are 1; write a name as in gpu, or amounts as in \{gpu: 1, memory: 8GB\}"),
        ({"resources": {"gpu": 0}}, "gpu is 0; it must be 1 or more"),
        ({"resources": {"gpu": True}}, "gpu is True; it must be a whole number"),
        ({"resources": {"gpu": 1, "gpu_memory": 16}}, "gpu_memory is 16; write a number with its unit, as in 16GB"),
        (
            {"resources": {"gpu": 1, "gpu_memory": "16 apples"}},
            "gpu_memory is '16 apples'; write a number with its unit",
        ),
        ({"resources": {"gpu_memory": "16GB"}}, "resources have gpu_memory without gpu"),
        ({"resources": {"../gpu": 1}}, "resources are"),
        ({"retries": -1}, "retries is -1; it must be 0 or more"),
        ({"timeout": "3 parsecs"}, "timeout is '3 parsecs'; write a number with its unit, as in 90s, 45m or 3h"),
        ({"mutex": "a/b"}, "mutex is 'a/b'; it must be a name of letters"),
    ],
)
def test_another_form_is_refused(meta: dict[str, Any], message: str) -> None:
    with pytest.raises(NeedsError, match=message):
        read_needs(meta)


def test_what_a_worker_has() -> None:
    """The text on Prefect's page is what the caller reads back."""
    capacity = Capacity((16_900_000_000, 85 * GB), cpus=16, memory=137 * GB, others={"tpu": 4})
    assert str(capacity) == "gpu: 2, gpu_memory: [16.9GB, 85GB], cpus: 16, memory: 137GB, tpu: 4"
    assert read_capacity(str(capacity)) == capacity
    assert read_capacity("{gpu: 2, gpu_memory: 16GB}").cards == (16 * GB, 16 * GB)
    assert read_capacity(str(Capacity(cpus=2, memory=GB))) == Capacity(cpus=2, memory=GB)
    assert (capacity.slots(1), capacity.slots(3), Capacity().slots(1)) == (4, 6, 1)
    for wanted, lacks in (
        ({"gpu": 2}, False),
        ({"gpu": 3}, True),
        ({"gpu": 1, "gpu_memory": 80 * GB}, False),
        ({"gpu": 2, "gpu_memory": 80 * GB}, True),
        ({"cpus": 17}, True),
        ({"memory": 137 * GB}, False),
        ({"tpu": 5}, True),
        ({"licence": 1}, True),
    ):
        assert capacity.lacks(wanted) is lacks, wanted
    for text in ("gpu", "gpu: -1", "gpu: 2, gpu_memory: [16GB]", "{gpu: ["):
        with pytest.raises(CapacityError, match=r"is not a list of resources: .*; write \{gpu: 1, gpu_memory: 16GB\}"):
            read_capacity(text)


def test_torch_is_asked_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cards are those that torch sees; neither a worker nor the server loads torch."""
    import torch

    monkeypatch.delenv("PREFECT_DVC_RESOURCES", raising=False)
    monkeypatch.delenv("DISTILLERY_DEVICE", raising=False)
    cards = [torch.cuda.get_device_properties(card).total_memory for card in range(torch.cuda.device_count())]
    assert list(measured().cards) == cards
    modules = "prefect_dvc.gpu_stage, prefect_dvc.server.serve, prefect_dvc.pipeline_flow"
    load = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", load], check=False).returncode == 0


def test_the_owner_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_DVC_RESOURCES", "gpu: 1, gpu_memory: 16GB, cpus: 3, licence: 2")
    capacity = measured()
    assert (capacity.cards, capacity.cpus, capacity.others) == ((16 * GB,), 3, {"licence": 2})
    assert capacity.memory > 0
    monkeypatch.setenv("PREFECT_DVC_RESOURCES", "gpu: many")
    with pytest.raises(CapacityError, match="PREFECT_DVC_RESOURCES: 'gpu: many' is not a list of resources"):
        measured()


class Together:
    """Blocks in threads: who is inside, in which order they came, and a way to let each out."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.came: list[str] = []
        self._out: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def enter(self, name: str, block: Callable[[], Any]) -> None:
        """Start a thread that enters the block and stays."""
        self._out[name] = threading.Event()

        def stay() -> None:
            with block():
                self.came.append(name)
                self.inside.append(name)
                self._out[name].wait()
                self.inside.remove(name)

        self._threads.append(threading.Thread(target=stay))
        self._threads[-1].start()

    def leave(self, name: str) -> None:
        self._out[name].set()

    def end(self) -> None:
        for event in self._out.values():
            event.set()
        for thread in self._threads:
            thread.join()


def test_slots_and_priorities() -> None:
    """Three slots and four processors: nobody overtakes, the priority counts, and a stage on a worker takes a slot."""
    slots, stages = Slots(3, cpus=4, memory=8 * GB), Together()

    def enter(name: str, *, away: bool = False, priority: int = 0, **resources: int) -> None:
        needs = Needs(resources, priority=priority)
        stages.enter(name, lambda: slots.hold(name, needs, away=away))

    enter("large", cpus=64)  # gets all processors
    wait_until(lambda: stages.inside == ["large"], "it runs")
    enter("small", cpus=1)
    wait_until(lambda: len(slots._waiting) == 1, "it waits")
    enter("there", away=True, priority=1, cpus=4, memory=100 * GB)
    wait_until(lambda: "there" in stages.inside, "it runs on a worker")
    enter("urgent", priority=2, memory=8 * GB)
    wait_until(lambda: len(stages.inside) == 3, "the last slot")
    enter("greedy", memory=GB)
    wait_until(lambda: len(slots._waiting) == 2, "it waits")
    stages.leave("there")
    stages.leave("large")
    wait_until(lambda: "small" in stages.inside, "it has a processor")
    assert "greedy" not in stages.inside
    stages.leave("urgent")
    wait_until(lambda: "greedy" in stages.inside, "it has memory")
    stages.end()
    assert stages.came == ["large", "there", "urgent", "small", "greedy"]
    message = "Stage 'x' needs memory: 9GB .*, and this machine has 8GB"
    with pytest.raises(StageError, match=message), slots.hold("x", Needs({"memory": 9 * GB})):
        pass


def test_one_at_a_time(tmp_path: Path) -> None:
    """A mutex: the second waits, and gives up if its run is stopped."""
    stages, stopped = Together(), threading.Event()
    stages.enter("one", lambda: turn([tmp_path / "corpus.lock"], "stage 'one'"))
    wait_until(lambda: stages.inside == ["one"], "it runs")
    stopped.set()
    with (
        pytest.raises(StageError, match="being stopped; stage 'two' waited for stage 'one'"),
        turn([tmp_path / "corpus.lock"], "stage 'two'", stopped=stopped.is_set),
    ):
        pass
    stages.enter("two", lambda: turn([tmp_path / "corpus.lock"], "stage 'two'"))
    stages.leave("one")
    wait_until(lambda: stages.inside == ["two"], "it runs")
    stages.end()


def test_cards_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage sees its own cards; one that needs a larger card waits, and so does one that needs all."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    capacity, stages, told = Capacity((16 * GB, 80 * GB), others={"tpu": 1}), Together(), list[str]()

    def hold(wanted: dict[str, int], name: str, per_card: int = 1) -> Any:
        return holding(capacity, wanted, name, per_card, told.append)

    large = {"gpu": 1, "gpu_memory": 40 * GB}
    with hold(large, "large") as shown, hold({"gpu": 1}, "any") as other, hold({"tpu": 1}, "tpu") as none:
        assert [part["CUDA_VISIBLE_DEVICES"] for part in (shown, other, none)] == ["7", "4", ""]
        stages.enter("both", lambda: hold({"gpu": 2, "tpu": 1}, "both"))
        wait_until(lambda: told, "it waits")
        assert told == ["Waiting for gpu: 2, tpu: 1."]
    wait_until(lambda: stages.inside == ["both"], "it has all")
    stages.end()
    with hold({"gpu": 2}, "a", 2) as one, hold({"gpu": 2}, "b", 2) as two:
        assert one == two == {"CUDA_VISIBLE_DEVICES": "4,7"}


class Counting(Commands):
    """Counts the processes that run at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    @contextmanager
    def _started(self, *arguments: Any) -> Iterator[Any]:
        with super()._started(*arguments) as process:
            self.most = max(self.most, len(self._processes))
            yield process


def test_hand_offs_keep_to_the_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """regression: twelve GPU stages were handed off at once although two may run at a time."""
    monkeypatch.setenv("PREFECT_API_URL", "")
    names = [f"g{number}" for number in range(12)]
    root = make_repository(tmp_path / "workspace", {name: stage(name, gpu=True) for name in names})
    options: dict[str, Any] = {"target": None, "profile": None, "overrides": {}, "force": False, "gpu": "require"}
    with open_run(root, **options, parallel=2, log=print, hand_off=hand_off) as run:
        run.work.commands = commands = Counting()
        with pytest.raises(PipelineError, match="Not up to date: g0, g1, g2, g3"):
            run_in_threads(run)
    assert len(run.failures) == len(names)
    assert commands.most == 2


def test_retries_and_a_timeout(tmp_path: Path) -> None:
    """A stage that fails once has a second attempt; one that never ends is ended, and its error says why."""
    flaky: dict[str, Any] = {
        "cmd": f"python flaky.py {tmp_path / 'mark'}",
        "outs": ["flaky.txt"],
        "meta": {"retries": 1},
    }
    root = make_repository(tmp_path / "workspace", {"slow": stage("slow", timeout="0.1s"), "flaky": flaky})
    (root / "flaky.py").write_text(FLAKY, encoding="utf-8")
    done = pipeline(root, "--set", f"stages.slow.until={tmp_path / 'never'}")
    assert "Attempt 1 of 2 of flaky has failed; the next begins." in done.stdout
    assert "flaky: Ran" in done.stdout
    assert "Stage 'slow' was ended after its timeout of 0.1 s (`meta` in dvc.yaml)." in done.stderr


@pytest.mark.parametrize("persist", [False, True])
def test_another_attempt_works_on_the_present_inputs(persist: bool, tmp_path: Path) -> None:
    """regression: after a failed attempt, the next took what dvc.lock had for other inputs, and did not run."""
    line = f"test ! -e {tmp_path / 'once'} || {{ rm {tmp_path / 'once'}; exit 1; }}; cp input.txt output.txt"
    outs = [{"output.txt": {"persist": persist}}]
    root = make_repository(
        tmp_path / "workspace", {"copied": {"cmd": line, "deps": ["input.txt"], "outs": outs, "meta": {"retries": 1}}}
    )
    for text in ("before", "after"):
        (root / "input.txt").write_text(text, encoding="utf-8")
        (tmp_path / "once").touch()
        assert last_line(pipeline(root, "--apply")) == "Ran: copied"
        assert (root / "output.txt").read_text(encoding="utf-8") == text
