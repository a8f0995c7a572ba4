"""Register the flows of prefect.yaml with the server: `prefect-dvc deploy`, before or after the workers start.

`prefect deploy --all` alone fails while a work pool is missing, and puts the path of this clone into all deployments if
the environment has PREFECT_DVC_CLONE. So the pools are created first, the variable is left out, and the result checked.
"""

import argparse
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from prefect_dvc.errors import Refusal
from prefect_dvc.server.database import RUNS, most_runs

RUNS_POOL = "dvc"
POOLS = (RUNS_POOL, "gpu")
CLONE = "PREFECT_DVC_CLONE"  # a worker's own; each flow run reads it from the worker that takes it
OWN = "prefect.yaml"  # the repository's deployments; without it, those of prefect_dvc/deployments.yaml
PLACE = f"{{{{ ${CLONE} }}}}"
HEARTBEAT_SECONDS = 30  # PREFECT_FLOWS_HEARTBEAT_FREQUENCY of the workers
WATCH = "Crash runs without a heartbeat"


def deploy() -> list[str]:
    """Create the work pools that are missing, deploy every flow of prefect.yaml, and check the deployments.

    A repository without a prefect.yaml gets the three flows without a schedule. Returns the names of the deployments,
    FLOW/NAME, sorted. Raises Refusal if Prefect refuses a deployment, or one has a fixed directory.
    """
    create_pools()
    watch_heartbeats()
    environment = {name: value for name, value in os.environ.items() if name != CLONE} | {"PREFECT_CLI_PROMPT": "false"}
    command = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy", "--all"]
    if not Path(OWN).exists():
        command += ["--prefect-file", str(Path(__file__).parents[1] / "deployments.yaml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refusal(f"`prefect deploy --all` failed:\n{done.stdout}{done.stderr}")
    return _checked()


def require_server() -> None:
    """Raise Refusal without a server to talk to."""
    if not os.environ.get("PREFECT_API_URL"):
        raise Refusal("Set PREFECT_API_URL and PREFECT_API_AUTH_STRING to those of the server, see docs/operations.md.")


def create_pools() -> None:
    """Create both work pools, if they do not exist yet; `dvc` has at most `most_runs` runs at a time.

    A pool that is there keeps its limit unless the environment names one. Raises Refusal.
    """
    from prefect.client.orchestration import get_client  # reads the settings of this process, so not before they are
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.exceptions import ObjectAlreadyExists

    with get_client(sync_client=True) as client:
        for pool in POOLS:
            limit = most_runs() if pool == RUNS_POOL else None
            with suppress(ObjectAlreadyExists):
                client.create_work_pool(WorkPoolCreate(name=pool, type="process", concurrency_limit=limit))
                continue
            if limit is not None and RUNS in os.environ:
                client.update_work_pool(pool, WorkPoolUpdate(concurrency_limit=limit))


def watch_heartbeats() -> None:
    """Create an automation that marks a run Crashed after three missing heartbeats: nothing else would."""
    from prefect.automations import Automation
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import EventTrigger, Posture

    silence = EventTrigger(
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.*"},  # runs end in states of many names: Completed, Promoted, Refused
        match={"prefect.resource.id": ["prefect.flow-run.*"]},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=3 * HEARTBEAT_SECONDS),
    )
    crash = ChangeFlowRunState(state=StateType.CRASHED, message="No heartbeat: its process or its machine is gone.")
    with get_client(sync_client=True) as client:
        for before in client.read_automations_by_name(WATCH):  # perhaps of an earlier version
            client.delete_automation(before.id)
    Automation(name=WATCH, trigger=silence, actions=[crash]).create()


def _checked() -> list[str]:
    """Return the deployments' names. Raises Refusal if one of them leads all workers to one directory."""
    from prefect.client.orchestration import get_client

    names = []
    with get_client(sync_client=True) as client:
        for deployment in client.read_deployments():
            if deployment.work_pool_name not in POOLS:
                continue  # somebody else's
            name = f"{client.read_flow(deployment.flow_id).name}/{deployment.name}"
            places = (step.get("directory") for steps in deployment.pull_steps or [] for step in steps.values())
            if (place := next(places, None)) != PLACE:
                raise Refusal(f"{name} works in {place!r} on every machine, not in {PLACE}; check {OWN}.")
            names.append(name)
    return sorted(names)


def _address(given: str) -> str:
    """Return an address that Prefect can call; with another one it would fail at each call, where nobody looks."""
    if not re.fullmatch(r"https?://[^/\s]+\S*", given):
        raise argparse.ArgumentTypeError(f"'{given}' is not an address; it must begin with https:// or http://")
    return given


def main() -> None:
    parser = argparse.ArgumentParser(description="Register the flows with the server.")
    parser.add_argument(
        "--webhook", metavar="URL", type=_address, help="address that the server calls after each retraining"
    )
    webhook = parser.parse_args().webhook
    require_server()
    print("\n".join(deploy()))
    if webhook:
        from prefect_dvc.server.webhook import call_webhook

        call_webhook(webhook)
