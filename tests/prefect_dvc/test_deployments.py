"""prefect.yaml and the form of the flows agree with the code."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.exceptions import PrefectHTTPStatusError
from prefect.flows import Flow, load_flow_from_entrypoint
from prefect.utilities.schema_tools.validation import ValidationError, validate

from prefect_dvc.errors import SettingsError
from prefect_dvc.gpu_stage import COMMAND
from prefect_dvc.pipeline import refuse_unkept
from prefect_dvc.pipeline_flow import EVERYTHING, pipeline
from prefect_dvc.retrain_flow import retrain
from prefect_dvc.server.database import SQLITE_RUNS
from prefect_dvc.settings.parameters import AS_IT_STANDS

from .conftest import cli
from .handoff_server import Server

ROOT = Path(__file__).parents[2]


def deployments() -> dict[str, dict[str, Any]]:
    content = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    return {deployment["name"]: deployment for deployment in content["deployments"]}


def flow_of(entrypoint: str) -> Flow[Any, Any]:
    found: Flow[Any, Any] = load_flow_from_entrypoint(entrypoint)
    return found


def test_every_deployment_leads_to_a_flow() -> None:
    """And its parameters are the flow's."""
    assert set(deployments()) == {"pipeline", "retrain", "gpu-stage"}
    for name, deployment in deployments().items():
        flow = flow_of(str(ROOT / deployment["entrypoint"]))
        assert flow.name == name
        assert set(deployment.get("parameters", {})) <= set(flow.parameters.properties)


def test_a_repository_without_prefect_yaml() -> None:
    """It gets the same flows, by the names of their modules, and no schedule."""
    content = yaml.safe_load((ROOT / "prefect_dvc/deployments.yaml").read_text(encoding="utf-8"))
    for given in content["deployments"]:
        ours = deployments()[given["name"]]
        assert flow_of(given["entrypoint"]).fn is flow_of(str(ROOT / ours["entrypoint"])).fn
        assert (given["work_pool"], given["pull"], "schedules" in given) == (ours["work_pool"], ours["pull"], False)
    assert len(content["deployments"]) == len(deployments())


def test_the_command_of_the_gpu_stage() -> None:
    assert deployments()["gpu-stage"]["work_pool"]["job_variables"]["command"] == COMMAND


TOO_LARGE = 10**20


@pytest.mark.parametrize(
    "given",
    [
        {"parallel": 0},
        {"parallel": TOO_LARGE},
        {"overrides": {"student.epochs": TOO_LARGE}},
        {"floors": {"accuracy": TOO_LARGE}},
        {"further": {"keep_runs": TOO_LARGE}},
    ],
)
def test_numbers_that_the_server_cannot_keep(given: dict[str, Any]) -> None:
    """It took them, and then its list of runs was an error for ever; the form and the commands refuse them."""
    with pytest.raises(ValidationError, match=r"is (greater|less) than the m"):
        for flow in (pipeline, retrain):
            validate(given, flow.parameters.model_dump(), raise_on_error=True)
    if given != {"parallel": 0}:
        with pytest.raises(SettingsError, match=f"{TOO_LARGE}, which Prefect's server cannot keep"):
            refuse_unkept(given)
    refuse_unkept({"overrides": {"seed": str(TOO_LARGE), "day": date(2026, 11, 30)}})


def test_choices() -> None:
    """The form offers the stages of dvc.yaml, and the profiles of conf/profile, a user's own included."""
    profile = pipeline.parameters.model_dump()["properties"]["profile"]
    target = pipeline.parameters.model_dump()["properties"]["target"]
    assert {EVERYTHING, "student", "component_focus"} <= set(target["enum"])
    assert profile["enum"] == [AS_IT_STANDS, *sorted(file.stem for file in (ROOT / "conf/profile").glob("*.yaml"))]


def test_one_command_deploys(tmp_path: Path) -> None:
    """regression: it failed before the workers had started, and PREFECT_DVC_CLONE sent all workers to one directory."""
    server = Server(tmp_path)
    server.start()
    try:
        for _ in range(2):
            done = cli(ROOT, "deploy", **server.environment, PREFECT_DVC_CLONE=str(tmp_path))
            assert done.stdout.split() == ["gpu-stage/gpu-stage", "pipeline/pipeline", "retrain/retrain"], done.stderr
        with server.client() as client:
            for deployment in client.read_deployments():
                (step,) = deployment.pull_steps or []
                assert [options["directory"] for options in step.values()] == ["{{ $PREFECT_DVC_CLONE }}"]
                assert [schedule.active for schedule in deployment.schedules] in ([], [False])  # until switched on
            (pipeline_id,) = (each.id for each in client.read_deployments() if each.name == "pipeline")
            for known in ({"student.epochs": 1}, {"student": {"epochs": 1}}, {"encoders.mine.reference": "x"}):
                client.create_flow_run_from_deployment(pipeline_id, parameters={"overrides": known})
            for unknown in ({"studnt.epochs": 1}, {"studnt": {"epochs": 1}}):
                with pytest.raises(PrefectHTTPStatusError, match="studnt"):
                    client.create_flow_run_from_deployment(pipeline_id, parameters={"overrides": unknown})
            pools = {pool.name: pool.concurrency_limit for pool in client.read_work_pools()}
            assert (pools["dvc"], pools["gpu"]) == (SQLITE_RUNS, None)
    finally:
        server.stop()


@pytest.mark.parametrize("address", ["chat.example.org/hook", "ftp://example.org", "https://"])
def test_an_address_that_nobody_can_call(address: str) -> None:
    """regression: it was taken, and each call failed unseen."""
    done = cli(ROOT, "deploy", "--webhook", address)
    assert done.returncode == 2
    assert f"'{address}' is not an address; it must begin with https:// or http://" in done.stderr
