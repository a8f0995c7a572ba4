"""Register the flows of prefect.yaml with the server: `prefect-dvc deploy`, before or after the workers start.

`prefect deploy --all` alone fails while a work pool is missing, and may put the path of this clone into deployments.
"""

import argparse
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from prefect_dvc.errors import Refusal
from prefect_dvc.server.database import RUNS, most_runs

RUNS_POOL = "dvc"
POOLS = (RUNS_POOL, "gpu")
CLONE = "PREFECT_DVC_CLONE"  # a worker's own; each flow run reads it from the worker that takes it
OWN = "prefect.yaml"  # the repository's deployments; without it, those of prefect_dvc/deployments.yaml
PLACE = f"{{{{ ${CLONE} }}}}"
HEARTBEAT_SECONDS = 30  # PREFECT_FLOWS_HEARTBEAT_FREQUENCY of the workers


def deploy() -> list[str]:
    """Create the work pools, deploy every flow of prefect.yaml, and return the names of the deployments, FLOW/NAME.

    A repository without a prefect.yaml gets the three flows without a schedule. Raises Refusal.
    """
    from prefect_dvc.server.automations import watch_heartbeats

    create_pools()
    watch_heartbeats(3 * HEARTBEAT_SECONDS)
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
        from prefect_dvc.server.automations import call_webhook

        call_webhook(webhook)
