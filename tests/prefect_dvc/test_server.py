"""Requirements on Prefect's server: survive restarts, and keep schedules."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId
from prefect.client.schemas.schedules import CronSchedule
from prefect.events import Event, Resource
from prefect.states import Completed, Crashed, Running

from prefect_dvc.gpu_stage import gpu_stage
from prefect_dvc.pipeline_flow import pipeline as pipeline_flow
from prefect_dvc.retrain_flow import retrain
from tests.sockets import free_port
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import pipeline, run_at_work, set_param
from .handoff_server import Server

TELL = """
from prefect import flow
from prefect.events import emit_event
from prefect_dvc.server.automations import call_webhook
from prefect_dvc.retrain_flow import emit
from prefect_dvc.retraining import Decision, RetrainSettings

@flow
def retrain():
    emit(Decision.REFUSED, 'The "gate" says no.', RetrainSettings(artifact="student"))

call_webhook("{url}")
retrain()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("prefect"))
    server.start()
    yield server
    server.stop()


def test_the_server_restarts_in_mid_run(server: Server, chain: Path, tmp_path: Path) -> None:
    """The run goes on without the server, and the server has the complete state once it is back."""
    back = tmp_path / "back"
    set_param(chain, "a", until=str(back))
    log = tmp_path / "log"
    process = run_at_work(chain, log, **server.environment)
    server.stop()
    server.start()
    back.touch()
    assert process.wait(LIMIT) == 0, log.read_text(encoding="utf-8")
    with server.client() as client:
        (run,) = (run for run in client.read_flow_runs() if run.deployment_id is None)
        states = {task.name: task.state_name for task in client.read_task_runs()}
        artifacts = {artifact.key: artifact for artifact in client.read_artifacts()}
    assert (run.state_name, run.name) == ("Completed", "all, as it stands")
    assert {"target:all", "profile:as it stands"} < set(run.tags)
    assert set(artifacts) == {"stages", "parameters"}  # this graph makes neither metrics nor a report
    rows = json.loads(str(artifacts["stages"].data))
    assert [(row["stage"], row["state"]) for row in rows] == [(name, "Ran") for name in "abcd"]
    assert all(row["seconds"] > 0 for row in rows)
    assert states == dict.fromkeys("abcd", "Ran")
    assert pipeline(chain, "--target", "c", **server.environment).returncode == 0
    with server.client() as client:
        names = {task.name for task in client.read_task_runs()}
    assert {"a: Restored", "c: Restored"} < names  # which the graph shows


@pytest.mark.fault(3)
def test_a_run_that_is_stopped(server: Server, chain: Path, tmp_path: Path) -> None:
    """Its stage is Cancelled, not Failed with the status of a signal, and the log has no traceback."""
    set_param(chain, "a", until=str(tmp_path / "never"))
    log = tmp_path / "log"
    process = run_at_work(chain, log, **server.environment)
    with server.client() as client:
        before = {task.id for task in client.read_task_runs() if task.name != "a"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) != 0
    text = log.read_text(encoding="utf-8")
    assert "NoneType: None" not in text and "Traceback" not in text
    with server.client() as client:
        stopped = [task for task in client.read_task_runs() if task.id not in before and task.name == "a"]
    assert "Cancelled" in {task.state_name for task in stopped}
    assert "Failed" not in {task.state_name for task in stopped}


def test_a_bad_parameter(server: Server, chain: Path) -> None:
    """The first lines say what is wrong, without a traceback; the run has failed."""
    done = pipeline(chain, "--target", "b", "--set", "stages.a.valeu=2", **server.environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "prefect-dvc run: params.yaml has unknown keys: valeu"
    assert "Traceback" not in done.stdout + done.stderr
    with server.client() as client:
        (run,) = (run for run in client.read_flow_runs() if run.name == "b, as it stands")
    assert (run.state_name, run.state and run.state.message) == ("Failed", "params.yaml has unknown keys: valeu")


@pytest.mark.fault(39)
def test_a_webhook_hears_of_retrainings(server: Server) -> None:
    """Each end of a retraining is an event, and the server calls the address that deploying has named."""
    heard: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as hook:
        thread = threading.Thread(target=hook.serve_forever)
        thread.start()
        for port in (free_port(), hook.server_port):  # nobody answers at the first one, which stops nothing
            program = TELL.format(url=f"http://127.0.0.1:{port}/")
            subprocess.run([sys.executable, "-c", program], env=os.environ | server.environment, check=True)
            ended = "failed" if port != hook.server_port else "executed"
            wait_until(partial(actions, server, ended), f"the call has {ended}", pause=SERVER_PAUSE)
        crash(server)
        wait_until(lambda: len(heard) == 2, "the webhook is called again", pause=SERVER_PAUSE)
        hook.shutdown()
        thread.join()
    artifact = "prefect-dvc.artifact.student"
    event = {"event": "prefect-dvc.retraining.refused", "artifact": artifact, "decision": "Refused"}
    assert heard[0] == event | {"reason": 'The "gate" says no.'}
    assert heard[1] == {
        "event": "prefect.flow-run.Crashed",
        "artifact": None,
        "decision": "Crashed",
        "reason": "The process of the flow run killed has ended.",
    }


def actions(server: Server, how: str) -> list[dict[str, Any]]:
    """The events of actions of automations that have failed, or were executed."""
    wanted = {"filter": {"event": {"name": [f"prefect.automation.action.{how}"]}}}
    answer = httpx.post(f"{server.api}/events/filter", json=wanted, auth=server.auth, timeout=LIMIT)
    events: list[dict[str, Any]] = answer.json()["events"]
    return events


def crash(server: Server) -> None:
    """A retraining and a pipeline whose processes are gone; only the first is told."""
    for flow in (pipeline_flow, retrain):
        with server.client() as client:
            run = client.create_flow_run(flow, name="killed", state=Running())
            client.set_flow_run_state(run.id, Crashed(), force=True)


def test_runs_without_a_heartbeat(server: Server) -> None:
    """regression: one that had ended as Promoted was marked Crashed; one that falls silent at work is."""
    program = "from prefect_dvc.server.automations import watch_heartbeats; watch_heartbeats(12)"
    subprocess.run([sys.executable, "-c", program], env=os.environ | server.environment, check=True)
    runs = {name: _at_work(server, name) for name in ("ended", "late", "silent")}
    with server.client() as client:
        _beat(server, runs["ended"])
        for name in ("ended", "late"):
            client.set_flow_run_state(runs[name], Completed(name="Promoted"))
        _beat(server, runs["late"])  # it was still on its way
        _beat(server, runs["silent"])
        wait_until(lambda: client.read_flow_run(runs["silent"]).state_name == "Crashed", "it is Crashed", pause=0.2)
        reasons = wait_until(lambda: _reasons(server, runs["late"]), "there is a line about the late one", pause=0.2)
        states = {name: client.read_flow_run(number).state for name, number in runs.items()}
    assert {name: state and state.name for name, state in states.items()} == {
        "ended": "Promoted",
        "late": "Promoted",
        "silent": "Crashed",
    }
    assert states["silent"] and states["silent"].message == "No heartbeat: its process or its machine is gone."
    assert reasons == ["Failed to set state: Run is already in terminal state COMPLETED."]
    assert _reasons(server, runs["ended"]) in ([], reasons)  # Prefect may learn of the end before the heartbeat


def _at_work(server: Server, name: str) -> UUID:
    with server.client() as client:
        return client.create_flow_run(pipeline_flow, name=name, state=Running()).id


def _beat(server: Server, number: UUID) -> None:
    """A heartbeat of a flow run, as its process sends it."""
    resource = {"prefect.resource.id": f"prefect.flow-run.{number}"}
    event = Event(event="prefect.flow-run.heartbeat", resource=Resource(resource)).model_dump(mode="json")
    httpx.post(f"{server.api}/events", json=[event], auth=server.auth, timeout=LIMIT).raise_for_status()


def _reasons(server: Server, number: UUID) -> list[str]:
    """Why actions of automations on a flow run have failed."""
    target = f"prefect.flow-run.{number}"
    return [
        event["payload"]["reason"]
        for event in actions(server, "failed")
        if target in {related["prefect.resource.id"] for related in event["related"]}
    ]


def test_a_schedule_makes_runs(server: Server) -> None:
    """Prefect with another SQLAlchemy than the pinned one starts, and schedules nothing."""
    with server.client() as client:
        deployment = client.create_deployment(
            flow_id=client.create_flow(gpu_stage),
            name="every-monday",
            schedules=[DeploymentScheduleCreate(schedule=CronSchedule(cron="0 3 * * 1", timezone="Europe/Berlin"))],
        )
        ours = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[deployment]))
        runs = wait_until(lambda: client.read_flow_runs(flow_run_filter=ours), "runs are scheduled", pause=SERVER_PAUSE)
    assert {run.state_name for run in runs} == {"Scheduled"}
