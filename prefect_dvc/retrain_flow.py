"""The flow of a retraining, with its form on Prefect's page. Each end is an event, prefect-dvc.retraining.DECISION."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from fnmatch import fnmatchcase
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

from prefect import State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.events import emit_event
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from pydantic import Field, WithJsonSchema

from prefect_dvc.charts import history, panels, publish_chart
from prefect_dvc.errors import Refusal
from prefect_dvc.pipeline_flow import Overrides, Profile, label, run_as_tasks
from prefect_dvc.retraining import NONE, RetrainSettings, day_in, meanings, retrain_once
from prefect_dvc.server.orphans import at_work
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.settings.parameters import AS_IT_STANDS, KEPT, LARGEST, choices

EVENT = "prefect-dvc.retraining"  # begins the name of each event
HERE = RetrainSettings().complete(read_config(Path.cwd()))  # the form's defaults
SITES = [NONE, *choices(Path.cwd(), "sites")]  # of the form
Site = Annotated[str, WithJsonSchema({"type": "string", "enum": SITES})]
Figure = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Limits = dict[str, Figure | str]
SHOWN = ("snapshot", "profile", "site", "overrides", "floors", "gains", "tolerances", "promote", "source", "revision")
FORM = {  # what the form has in the place of a field's own type
    "profile": Profile,
    "site": Site,
    "overrides": Overrides,
    "data": Limits,
    "floors": dict[str, Figure],
    "gains": Limits,
    "tolerances": Limits,
}


def _name() -> str:
    """Return the name of the flow run: its profile and the day of its snapshot."""
    given = flow_run.parameters
    zone = (given.get("further") or {}).get("timezone", "UTC")
    day = given.get("snapshot") or day_in(zone, flow_run.scheduled_start_time)
    return f"{given.get('profile', AS_IT_STANDS)}, {day}"


def _retrain(further: Mapping[str, Any] = {}, **given: Any) -> State[None]:
    settings = RetrainSettings(**given, **further).complete(read_config(Path.cwd()))
    name = f"flow run '{flow_run.name}'"
    label(f"profile:{settings.profile}", f"artifact:{settings.artifact}")
    try:
        scheduled = flow_run.scheduled_start_time
        with at_work(str(flow_run.id), name):
            verdict = retrain_once(Path.cwd(), settings, run_as_tasks, get_run_logger().info, name, scheduled)
    except Refusal as error:
        emit("Failed", str(error), settings)
        return Failed(message=str(error))
    except Exception as error:
        emit("Failed", f"{type(error).__name__}: {error}", settings)
        raise
    emit(verdict.decision, verdict.reason, settings)
    create_markdown_artifact(key="retraining", markdown=verdict.report, description=str(verdict.decision))
    _show_versions(settings)
    return Completed(name=str(verdict.decision), message=verdict.reason)


def _show_versions(settings: RetrainSettings) -> None:
    """Publish a chart of the figures that decide, over all promoted versions."""
    patterns = [*(settings.gains or {}), *(settings.tolerances or {})]
    versions = history(Path.cwd(), settings.channel)
    if shown := panels(versions, lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)):
        publish_chart("versions", "Figures of the promoted versions", shown)


def _parameters() -> Signature:
    """Return the fields of RetrainSettings as the parameters of the flow, of which Prefect makes the form.

    Those that a person rarely changes are one field, `further`, which takes {NAME: VALUE}.
    """
    parameters = []
    for each in fields(RetrainSettings):
        if each.name in SHOWN:
            default, kind = getattr(HERE, each.name), FORM.get(each.name, each.type)
            parameters.append(Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    rest = [each.name for each in fields(RetrainSettings) if each.name not in SHOWN]
    schema = {"type": "object", "propertyNames": {"enum": rest}, "additionalProperties": KEPT}
    kind = Annotated[dict[str, Any], WithJsonSchema(schema)]
    parameters.append(Parameter("further", Parameter.KEYWORD_ONLY, default={}, annotation=kind))
    return Signature(parameters)


def given_to_flow(settings: RetrainSettings) -> dict[str, Any]:
    """Return settings as the parameters of the flow."""
    every = asdict(settings)
    shown = {name: every.pop(name) for name in SHOWN}
    return {**shown, "further": every}


def _meanings() -> str:
    """Return the docstring of the form: the meanings of `further` stand together."""
    told, each = meanings()
    rest = " ".join(f"{name}: {text}" for name, text in each.items() if name not in SHOWN)
    shown = "".join(f"    {name}: {each[name]}\n" for name in SHOWN)
    return f'{told}\n\nArgs:\n{shown}    further: More settings by name, for example {{"keep_runs": 50}}. {rest}\n'


_retrain.__doc__ = _meanings()
_retrain.__dict__["__signature__"] = _parameters()
retrain = flow(name="retrain", flow_run_name=_name, log_prints=True)(_retrain)


def emit(decision: str, reason: str, settings: RetrainSettings) -> None:
    """Emit the event of this flow run's end, for which automations wait."""
    emit_event(
        event=f"{EVENT}.{decision.lower().replace(' ', '-')}",
        resource={"prefect.resource.id": f"prefect-dvc.artifact.{settings.artifact}"},
        related=[{"prefect.resource.id": f"prefect.flow-run.{flow_run.id}", "prefect.resource.role": "flow-run"}],
        payload={"decision": decision, "reason": reason, "flow_run": flow_run.name},
    )
