"""The hand-off between two clones on one host: a real server, a real worker, real kills."""

import json
import os
import re
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.schemas.objects import StateType
from prefect.states import Crashed

from prefect_dvc.execution.commands import Commands
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.gpu_stage import announce_capacity, gpu_stage, queue_of
from prefect_dvc.server.serve import origin_of
from prefect_dvc.settings.resources import Needs
from prefect_dvc.workers import handoff, pool, request
from prefect_dvc.workers.capacity import Capacity
from prefect_dvc.workers.handoff import fetch, give, key_of, opened
from prefect_dvc.workers.pool import Errand, Limits
from prefect_dvc.workers.request import HandoffError
from prefect_dvc.workspace.directory import REFS as KEPT
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import dvc_, git, make_repository, pipeline, set_param, stage
from .handoff_server import Server, kill, running, worker
from .relay import Relay
from .site import Site

LIMITED: dict[str, Any] = {"resources": {"gpu": 1}, "timeout": None}


@pytest.fixture(scope="module")
def relay() -> Relay:
    """A link to the server, which a worker may use in place of its own address."""
    return Relay()


@pytest.fixture(scope="module")
def server(relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server(tmp_path_factory.mktemp("prefect"), origin_of(relay.port))) as server:
        yield server


@pytest.fixture(scope="module")
def shared_site(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(server, tmp_path_factory.mktemp("site"))
    try:
        yield site
    finally:
        site.close()


@pytest.fixture
def site(shared_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """With an online worker, and stage g to be run; no hand-off leaves a ref behind."""
    monkeypatch.setenv("STAGE_LOG", str(shared_site.ran_at_home))
    monkeypatch.setattr(pool, "LIMITS", Limits(silence=LIMIT, server=LIMIT))
    shared_site.ran_at_home.unlink(missing_ok=True)
    shared_site.start_worker()
    shared_site.change()
    yield shared_site
    shared_site.assert_clean()


@pytest.mark.fault(12)
def test_runs_there_and_is_restored_here(site: Site, tmp_path: Path) -> None:
    """The worker's clone is at another revision and has its own changes: home's present code runs.

    Afterwards a plain `dvc repro` has nothing to do, and a finished run never becomes Crashed.
    """
    code, other = site.home / "stage.py", site.clone / "stage.py"
    original = code.read_text(encoding="utf-8")
    code.write_text(original.replace("{name} {params", "{name}: {params"), encoding="utf-8")
    other.write_text("raise SystemExit('the clone\\'s own code')", encoding="utf-8")
    lines: list[str] = []
    try:
        assert site.hand_off(log=lines.append) is Outcome.RAN_ON_GPU
        assert (site.home / "g.txt").read_text(encoding="utf-8") == f"a 1\ng: {site.value}\n"
        assert "Stage 'g' didn't change, skipping" in dvc_("repro", "--single-item", "g", cwd=site.home)
    finally:
        code.write_text(original, encoding="utf-8")
        git(site.clone, "checkout", "stage.py")
    assert not site.ran_at_home.exists()
    assert "gpu | g: at work" in lines
    with site.server.client() as client:
        errand = Errand(client, site.server.runs()[-1].id, print, Limits(), queue_of(site.clone))
        assert errand._end(Crashed(message="late")).type is StateType.COMPLETED


def test_a_worker_without_a_card_is_not_asked(site: Site) -> None:
    """regression: each member of the pool got GPU stages. Home asks none without one, and a worker refuses, too."""
    runs = len(site.server.runs())
    capacity = Capacity(cards=(0,), cpus=2, memory=8 * 10**9)
    try:
        announce_capacity(site.clone, Capacity(cpus=2, memory=8 * 10**9))
        with pytest.raises(
            HandoffError, match=r"no online worker has gpu: 1; the workers are \S+ \(gpu: 0, cpus: 2, memory: 8GB\)"
        ):
            site.hand_off()
        announce_capacity(site.clone, capacity)
        with pytest.raises(HandoffError, match=r"no online worker has gpu: 1, gpu_memory: 16GB; the workers are"):
            site.hand_off(needs=Needs({"gpu": 1, "gpu_memory": 16 * 10**9}))
        assert len(site.server.runs()) == runs
        announce_capacity(site.clone, replace(capacity, others={"tpu": 1}))
        with pytest.raises(
            HandoffError, match=r"Refused: Stage 'g' needs tpu: 1, and this worker has gpu: 1, cpus: \d"
        ):
            site.hand_off(needs=Needs({"tpu": 1}))
    finally:
        announce_capacity(site.clone, capacity)


def test_a_stage_with_long_parameters(site: Site) -> None:
    """regression: the request was an argument of a step, "Argument list too long"; Prefect takes 512 KB."""
    site.change(value="long " * 150_000)
    assert site.hand_off() is Outcome.RAN_ON_GPU
    assert (site.home / "g.txt").stat().st_size > 700_000


@pytest.mark.fault(11)
def test_the_disk_of_the_worker_is_full(site: Site) -> None:
    """The host, the place and the reason are named, and nothing of it counts as a result."""
    cache = site.clone / ".dvc/cache"
    mount = f"mount -t tmpfs -o size=200k none '{cache}' && exec \"$@\""
    if subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount")
    site.stop_worker()
    site.start_worker(["unshare", "-m", "sh", "-c", mount, "sh"])
    site.change(value="x" * 300_000)
    try:
        with pytest.raises(StageError, match=r"No space left on device"):
            site.hand_off()
    finally:
        site.stop_worker()
    site.start_worker()
    assert site.hand_off() is Outcome.RAN_ON_GPU


def test_force_runs_again(site: Site) -> None:
    """A stage with a result is restored without a worker; forced, it runs there again and home gets its new result."""
    dvc_("repro", "--single-item", "g", cwd=site.home)
    site.ran_at_home.unlink()
    (site.home / "g.txt").unlink()
    before = site.runs_there()
    assert site.hand_off() is Outcome.RESTORED
    assert site.runs_there() == before
    assert site.hand_off(force=True) is Outcome.RAN_ON_GPU
    assert site.runs_there() == before + 1
    assert not site.ran_at_home.exists()


def test_a_run_without_a_remote(site: Site) -> None:
    """Out of the box: a second clone on the same host works through the workspace's own cache."""
    config = site.home / ".dvc/config"
    with_remote = config.read_text(encoding="utf-8")
    config.write_text("[core]\n    analytics = false\n", encoding="utf-8")
    try:
        done = pipeline(site.home, "--gpu", "require", **site.server.environment)
    finally:
        config.write_text(with_remote, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Ran on GPU worker: g" in done.stdout + done.stderr
    assert not site.ran_at_home.exists() or "g " not in site.ran_at_home.read_text(encoding="utf-8")


@pytest.mark.fault(9)
def test_a_failed_stage_is_not_tried_again(site: Site) -> None:
    """A stage that fails on the worker has failed, with its own lines; the hand-off has not."""
    site.change(fails=True)
    with pytest.raises(StageError, match="g: told to fail") as raised:
        site.hand_off()
    assert not isinstance(raised.value, HandoffError)
    assert site.last_state().name == "StageFailed"


def test_another_key_is_refused(site: Site) -> None:
    """An input that neither git nor DVC carries differs on the worker: refused, and the input is named."""
    graph = site.home / "dvc.yaml"
    content = yaml.safe_load(graph.read_text(encoding="utf-8"))
    content["stages"]["g"]["deps"].append("data/external/set.txt")
    before = graph.read_text(encoding="utf-8")
    (site.home / ".gitignore").write_text("/?.txt\n/data/external\n/data/checkpoints\n", encoding="utf-8")
    try:
        graph.write_text(yaml.safe_dump(content), encoding="utf-8")
        for place, text in ((site.home, "home"), (site.clone, "worker")):
            (place / "data/external").mkdir(parents=True)
            (place / "data/external/set.txt").write_text(text, encoding="utf-8")
        with pytest.raises(
            HandoffError, match=r"Refused: Hand-off failed at 'take': The key of stage 'g' is .* differ: data/ext"
        ):
            site.hand_off()
    finally:
        graph.write_text(before, encoding="utf-8")


@pytest.mark.fault(36)
def test_other_versions_are_refused(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result of a worker with other versions stood under home's key. Now the package is named."""
    (tmp_path / "rensa-0.0.dist-info").mkdir()
    (tmp_path / "rensa-0.0.dist-info/METADATA").write_text("Name: rensa\nVersion: 0.0\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    project, before = site.home / "pyproject.toml", site.runs_there()
    project.write_text('[project]\nname = "scratch"\ndependencies = ["rensa>=0"]\n', encoding="utf-8")
    try:
        with pytest.raises(
            HandoffError, match=r"Refused: .* other versions: rensa 0\.0 at the caller, \S+ on the worker\."
        ):
            site.hand_off()
    finally:
        project.unlink()
    assert site.runs_there() == before


def test_another_protocol_is_refused() -> None:
    state = gpu_stage.fn(request.PROTOCOL + 1, {"anything": "else"})
    assert state.name == "Refused"
    assert "install the same version of prefect-dvc" in str(state.message)


@pytest.mark.fault(37)
def test_the_remote_is_gone_before_it_is_sent(site: Site) -> None:
    """The worker gets no request."""
    runs = len(site.server.runs())
    away = site.remote.rename(site.remote.with_name("away"))
    site.remote.write_text("no directory", encoding="utf-8")
    try:
        with pytest.raises(HandoffError, match="Hand-off failed at 'send'"):
            site.hand_off()
    finally:
        site.remote.unlink()
        away.rename(site.remote)
    assert len(site.server.runs()) == runs


@pytest.mark.fault(37)
def test_the_remote_is_gone_for_the_worker(site: Site) -> None:
    """The worker cannot pull the stage's inputs: the stage does not start there."""
    set_param(site.home, "a", value=site.value + 1)
    dvc_("repro", "a", cwd=site.home)
    before = site.runs_there()
    dvc_("remote", "modify", "--local", "store", "url", str(site.home / "stage.py"), cwd=site.clone)
    try:
        with pytest.raises(HandoffError, match="The hand-off of stage 'g' ended as Refused: Hand-off failed at 'take'"):
            site.hand_off()
    finally:
        (site.clone / ".dvc/config.local").unlink()
        set_param(site.home, "a", value=1)
        dvc_("repro", "a", cwd=site.home)
    assert site.runs_there() == before


def test_a_result_that_no_remote_takes(tmp_path: Path) -> None:
    """The worker gives up after its limit, and says where the result is; a second request would find it."""
    root = make_repository(tmp_path / "workspace", {"g": stage("g")})
    dvc_("repro", "g", cwd=root)
    (tmp_path / "remote").touch()
    sent = a_request(root)
    told: list[str] = []
    steps = handoff.Steps(Commands(), told.append)
    with pytest.raises(HandoffError, match=r"(?s)failed at 'give'.*It was tried for 3 s .*in the worker's run-cache"):
        handoff.deliver(steps, root, sent, str(tmp_path / "remote"), 3)
    assert all("the result is not delivered yet; next try in" in line for line in told)
    (tmp_path / "remote").unlink()
    entry = handoff.deliver(steps, root, sent, str(tmp_path / "remote"), 0)
    assert (tmp_path / "remote/runs" / entry[:2] / entry).is_file()


@pytest.mark.fault(37)
def test_the_link_is_cut_for_longer_than_the_heartbeat(
    site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's bytes hang on the way to the server; home loses it, waits, and gets what it has done."""
    limits = Limits(silence=LIMIT)
    monkeypatch.setattr(pool, "LIMITS", limits)
    before = site.runs_there()
    site.stop_worker()

    def cut() -> None:
        relay.cut()
        object.__setattr__(limits, "silence", 12)

    def log(line: str) -> None:
        if "is asked for the result of stage 'g'" in line:
            object.__setattr__(limits, "silence", LIMIT)
            relay.mend()

    with relay.to(site.server.port):
        site.start_worker(PREFECT_API_URL=f"{origin_of(relay.port)}/api")
        try:
            with site.meanwhile(cut):
                assert site.hand_off(log=log) is Outcome.RESTORED
        finally:
            relay.mend()
            site.stop_worker()
    assert relay.passed > 1
    assert site.runs_there() == before + 1
    assert not site.ran_at_home.exists()


def test_the_result_is_not_in_the_remote(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remote loses it between the worker and home: a failure of the hand-off, and nothing half-restored."""
    run_request = pool.run_request

    def run_and_lose(*arguments: Any) -> Any:
        entry, outcome = run_request(*arguments)
        for file in (site.remote / "runs" / entry[:2]).rglob("*"):
            if file.is_file():
                file.unlink()
        return entry, outcome

    monkeypatch.setattr(pool, "run_request", run_and_lose)
    with pytest.raises(HandoffError, match="Hand-off failed at 'fetch'"):
        site.hand_off()


@pytest.mark.fault(3)
def test_home_stops_waiting(site: Site) -> None:
    """The caller is stopped: the worker's run is cancelled and its stage ended."""
    site.hold()
    runs, commands = len(site.server.runs()), Commands()

    def stop() -> None:
        site.wait_for_work(runs)
        commands.end()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(StageError, match="being stopped"):
        site.hand_off(commands=commands)
    stopper.join()
    wait_until(lambda: site.last_state().type is StateType.CANCELLED, "the run is cancelled", pause=SERVER_PAUSE)
    wait_until(lambda: not site.at_work(), "the stage has been ended")


def test_the_server_restarts(site: Site) -> None:
    """The server stops and starts again while the stage runs: home and worker go on."""

    def restart() -> None:
        site.server.stop()
        site.server.start()

    with site.meanwhile(restart):
        assert site.hand_off() is Outcome.RAN_ON_GPU
    assert not site.ran_at_home.exists()


@pytest.mark.fault(12)
def test_the_worker_is_killed_alone(site: Site) -> None:
    """The run's own process goes on, and its result counts."""

    def strike() -> None:
        assert site.worker is not None
        site.worker.kill()
        site.worker.wait()

    with site.meanwhile(strike):
        assert site.hand_off() is Outcome.RAN_ON_GPU


@pytest.mark.fault(12)
def test_the_worker_is_killed_with_its_engine(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home gives up after its limit, says what happened, and the run ends as Crashed."""
    limits = Limits(silence=LIMIT, absence=0)
    monkeypatch.setattr(pool, "LIMITS", limits)

    def strike() -> None:
        assert site.worker is not None
        kill(site.worker, signal.SIGKILL)
        object.__setattr__(limits, "silence", 12)  # not before: the run's process may be slow to start

    message = r"ended as Crashed: No sign of life from the worker for (\d+) s"
    with site.meanwhile(strike), pytest.raises(HandoffError, match=message) as raised:
        site.hand_off()
    found = re.search(message, str(raised.value))
    assert found is not None and int(found[1]) >= 12
    assert site.last_state().type is StateType.CRASHED


@pytest.mark.fault(12)
def test_a_stage_that_takes_longer_than_the_limit_is_ended(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits()
    monkeypatch.setattr(pool, "LIMITS", limits)

    def strike() -> None:
        object.__setattr__(limits, "total", 0.5)

    with site.meanwhile(strike), pytest.raises(HandoffError, match="It did not end within 0 s"):
        site.hand_off()
    assert site.last_state().type in (StateType.CANCELLING, StateType.CANCELLED)


@pytest.mark.fault(12)
def test_another_worker_takes_the_stage_of_a_dead_one(site: Site, tmp_path: Path) -> None:
    """The first has died and still counts as online; a line says that the second takes the stage."""
    site.stop_worker()
    site.start_worker(PREFECT_WORKER_HEARTBEAT_SECONDS="5")
    second = tmp_path / "second"
    git(site.home, "clone", "--quiet", str(site.home), str(second))
    told: list[str] = []
    with worker(site.server, second, STAGE_LOG=str(site.ran_there)):
        assert queue_of(site.clone) < queue_of(second)  # so the first one is chosen
        site.stop_worker()
        assert site.hand_off(log=told.append) is Outcome.RAN_ON_GPU
    gone = f"The worker {queue_of(site.clone)} went offline before it had begun. Another worker takes it."
    assert told.index(f"g goes to the worker {queue_of(site.clone)}.") < told.index(gone)
    assert told.index(gone) < told.index(f"g goes to the worker {queue_of(second)}.")


@pytest.mark.fault(12)
def test_a_killed_run_of_the_worker_leaves_no_command_behind(site: Site) -> None:
    """SIGKILL, which it cannot tell its stage; home hears of it from the worker."""
    before = site.runs_there()

    def strike() -> None:
        (engine,) = site.engines()
        os.kill(engine, signal.SIGKILL)
        wait_until(lambda: not site.at_work(), "the stage has been ended")

    with site.meanwhile(strike), pytest.raises(HandoffError, match="ended as Crashed: "):
        site.hand_off()
    assert site.runs_there() == before


def a_request(root: Path) -> request.StageRequest:
    """For stage g of a repository, with a key of no stage."""
    return request.StageRequest(
        "g", "0" * 64, {}, {}, "0" * 40, f"{request.REFS}/{'0' * 32}", str(root), None, False, {}, None
    )


def test_a_worker_without_a_remote(tmp_path: Path) -> None:
    """Its clone has no default remote: one line with the remedy, at once, since no second try would help."""
    root = make_repository(tmp_path / "workspace", {"g": stage("g")})
    with pytest.raises(HandoffError, match=r"^Hand-off failed at 'take': .* has no default DVC remote") as raised:
        handoff.accept(handoff.Steps(Commands(), pytest.fail), root, a_request(root), None)
    assert str(raised.value).endswith("dvc remote add --local NAME ADDRESS, then dvc remote default --local NAME")


def test_without_a_worker_a_stage_runs_here(tmp_path: Path) -> None:
    """No server, so no worker: a warning and this machine, or a failure, as the policy says."""
    root = make_repository(tmp_path / "workspace", {"g": stage("g", gpu=True)})
    there_is_none = {"PREFECT_API_URL": "", "PREFECT_HOME": str(tmp_path)}
    required = pipeline(root, "--gpu", "require", **there_is_none)
    assert required.returncode == 1
    assert "Stage 'g' was not handed off: no Prefect server is set" in required.stderr
    preferred = pipeline(root, **there_is_none)
    assert "Warning: Stage 'g' was not handed off" in preferred.stdout
    assert "g runs here instead" in preferred.stdout
    assert preferred.stdout.splitlines()[-1] == "Ran: g"
    assert "Warning" not in pipeline(root, "--gpu", "require", **there_is_none).stdout  # its result is there


def test_code_goes_through_a_git_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PREFECT_DVC_CODE_REMOTE a clone elsewhere can fetch the commit, for as long as the hand-off lasts."""
    root = make_repository(tmp_path / "workspace", {"g": stage("g", gpu=True)})
    bare = tmp_path / "bare.git"
    git(root, "init", "--quiet", "--bare", str(bare))
    git(root, "remote", "add", "origin", str(bare))
    monkeypatch.setenv("PREFECT_DVC_CODE_REMOTE", "origin")
    revision = git(root, "rev-parse", "HEAD")
    with handoff._published(root, revision, print) as (code, ref):
        assert code == "origin"
        assert git(bare, "rev-parse", ref) == revision
    assert git(bare, "for-each-ref") == ""
    monkeypatch.setenv("PREFECT_DVC_CODE_REMOTE", "nowhere")
    with (
        pytest.raises(HandoffError, match="could not be published: git push failed"),
        handoff._published(root, revision, print),
    ):
        pass


def test_uncommitted_code_can_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path / "workspace", {"g": stage("g", gpu=True)})
    monkeypatch.setenv("PREFECT_DVC_UNCOMMITTED", "refuse")
    handoff._refuse_uncommitted(root)
    git(root, "checkout", "--quiet", "--detach")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "A snapshot")
    git(root, "update-ref", f"{KEPT}/20261126-120000-0000", "HEAD")  # a kept run of this very snapshot
    with pytest.raises(HandoffError, match="uncommitted changes"):
        handoff._refuse_uncommitted(root)


# Private names of DVC's: parameters as of 3.67.1. One that has moved or changed: look for its successor in
# dvc/stage/cache.py, change dvc_private.py, workers/handoff.py or execution/stages.py, and raise PROTOCOL if keys or
# entries have changed.


def test_key_and_entry_are_those_of_the_run_cache(tmp_path: Path) -> None:
    """DVC's own entry of a stage has the key that the hand-off computes, and can be pushed."""
    root = make_repository(tmp_path / "workspace", {"a": stage("a")})
    dvc_("repro", cwd=root)
    with opened(root, str(tmp_path / "remote")) as repo:
        (a,) = repo.stage.collect("a")
        key = key_of(a)
        assert [path.name for path in (root / ".dvc/cache/runs").glob("*/*")] == [key]
        entry = give(repo, "a")
        assert (tmp_path / "remote/runs" / key[:2] / entry).is_file()
        assert (root / ".dvc/cache/runs" / key[:2] / entry).is_file()
        fetch(repo, entry)
    assert "a.txt" in json.dumps(yaml.safe_load((tmp_path / "remote/runs" / key[:2] / entry).read_text()))


def sent_request(home: Path, **fields: object) -> dict[str, Any]:
    """Return home's request for stage g, with some fields of an attacker's."""
    with opened(home, None) as repo:
        sent = handoff.send(repo, "g", look=False, force=True)
    assert sent is not None
    ref = f"{request.REFS}/{uuid.uuid4().hex}"
    git(home, "update-ref", ref, sent["revision"])
    return {"stage": "g", "ref": ref, "code": str(home), "remote": None, "force": False, **LIMITED, **sent} | fields


def hostile_repository(site: Site, root: Path, mark: Path) -> None:
    """Make an attacker's repository: a copy, except for stage g, which writes the file `mark`."""
    git(root.parent, "clone", "--quiet", str(site.home), str(root))
    for name in ("a.txt", "dvc.lock", "params.yaml"):
        (root / name).write_text((site.home / name).read_text(encoding="utf-8"), encoding="utf-8")
    (root / "stage.py").write_text(f"for name in ({str(mark)!r}, 'g.txt'): open(name, 'w')", encoding="utf-8")
    dvc_("commit", "--force", "a", cwd=root)


@pytest.mark.parametrize("attack", ["upload-pack", "ext", "ref", "unlisted", "data", "stage"])
@pytest.mark.fault(33)
def test_a_hostile_request_runs_nothing(attack: str, site: Site, tmp_path: Path) -> None:
    """An attacker who can start flow runs sends a request; the worker refuses it, and says what to do."""
    mark, hostile = tmp_path / "mark", tmp_path / "hostile"
    if attack in ("unlisted", "stage"):  # the others lead to no repository
        hostile_repository(site, hostile, mark)
    fields, told = {
        "upload-pack": ({"code": f"--upload-pack=touch {mark};"}, f"from '--upload-pack=touch {mark};', which"),
        "ext": ({"code": f"ext::sh -c touch% {mark}"}, f"from 'ext::sh -c touch% {mark}', which"),
        "ref": ({"ref": f"--upload-pack=touch {mark};"}, "The request's ref is '--upload-pack"),
        "unlisted": ({}, f"from '{hostile}', which is not on this worker's list"),
        "data": ({"remote": str(tmp_path)}, f"data would come from '{tmp_path}', which"),
        "stage": ({"stage": f"{hostile}/dvc.yaml:g"}, "The request's stage is '"),
    }[attack]
    before = git(site.clone, "for-each-ref"), site.runs_there()
    sent, there = sent_request(hostile if attack == "unlisted" else site.home, **fields), set(tmp_path.iterdir())
    with pytest.raises(HandoffError, match="ended as Refused: ") as raised:
        pool.run_request(request.PROTOCOL, sent, print, lambda: False)
    for ref in git(site.home, "for-each-ref", "--format=%(refname)", request.REFS).split():
        git(site.home, "update-ref", "-d", ref)
    assert told in str(raised.value)
    if attack in ("upload-pack", "ext", "unlisted", "data"):
        assert f"start the worker with {request.LISTED}=" in str(raised.value)
    assert not mark.exists()
    assert (git(site.clone, "for-each-ref"), site.runs_there()) == before
    assert set(tmp_path.iterdir()) == there
    if attack == "unlisted":  # the same request, once the owner has listed the repository, does run
        git(site.clone, "remote", "add", "hostile", str(hostile))
        try:
            _, outcome = pool.run_request(request.PROTOCOL, sent, print, lambda: False)
        finally:
            git(site.clone, "remote", "remove", "hostile")
        assert outcome is Outcome.RAN
        assert mark.exists()
