"""prefect.yaml and the form of the flows agree with the code."""

from pathlib import Path
from typing import Any

import yaml
from prefect.flows import Flow, load_flow_from_entrypoint

from flows.gpu_stage import COMMAND
from flows.tasks import AS_IT_STANDS, pipeline

ROOT = Path(__file__).parents[2]


def deployments() -> dict[str, dict[str, Any]]:
    content = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    return {deployment["name"]: deployment for deployment in content["deployments"]}


def test_every_deployment_leads_to_a_flow() -> None:
    """And its parameters are the flow's."""
    assert set(deployments()) == {"pipeline", "retrain", "gpu-stage"}
    for name, deployment in deployments().items():
        flow: Flow[Any, Any] = load_flow_from_entrypoint(str(ROOT / deployment["entrypoint"]))
        assert flow.name == name
        assert set(deployment.get("parameters", {})) <= set(flow.parameters.properties)


def test_the_command_of_the_gpu_stage() -> None:
    assert deployments()["gpu-stage"]["work_pool"]["job_variables"]["command"] == COMMAND


def test_profiles() -> None:
    """The form offers the profiles of conf/profile, a user's own included."""
    profile = pipeline.parameters.model_dump()["properties"]["profile"]
    assert profile["enum"] == [AS_IT_STANDS, *sorted(file.stem for file in (ROOT / "conf/profile").glob("*.yaml"))]
