"""Retraining from the command line; with a Prefect server (PREFECT_API_URL) it is the flow of retrain_flow.py.

prefect-dvc retrain --snapshot 2026-11-21 --profile best
prefect-dvc retrain --tolerance 'student/*/spearman=0.01' --remote origin
"""

import argparse
import os
import signal
from collections.abc import Sequence
from dataclasses import Field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from prefect_dvc.errors import Refusal
from prefect_dvc.pipeline import refuse_unkept, run_in_threads, stop
from prefect_dvc.retraining import Decision, RetrainSettings, meanings, retrain_once
from prefect_dvc.settings.flows_yaml import Config, read_config
from prefect_dvc.settings.parameters import assignments
from prefect_dvc.workspace.snapshot import refuse_read_only

NO_LIMIT = "none"  # leaves a limit of flows.yaml out
PAIRS = {  # options that may be given several times
    "overrides": ("--set", "KEY=VALUE", "student.epochs=3"),
    "data": ("--data", "GATE=LIMIT", "rows=30%%, or rows=none for no gate"),
    "floors": ("--floor", "METRIC=VALUE", "accuracy=0.8, or accuracy=none for no floor"),
    "gains": ("--gain", "METRIC=GAIN", "accuracy=0.002, or accuracy=none for no gain"),
    "tolerances": ("--tolerance", "METRIC=LOSS", "accuracy=5%%"),
}
READERS: dict[object, Any] = {int: int, date | None: date.fromisoformat}


def arguments(given: Sequence[str] | None = None) -> dict[str, Any]:
    """Parse a command line, with an option for each field of RetrainSettings; return those that it has."""
    parser = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
    parser.description, told = meanings()
    for each in fields(RetrainSettings):
        _add(parser, each, told[each.name].replace("%", "%%"))
    return vars(parser.parse_args(given))


def _add(parser: argparse.ArgumentParser, field: Field[Any], meaning: str) -> None:
    """Add the option of a field."""
    name = f"--{field.name.replace('_', '-')}"
    if field.name in PAIRS:
        option, form, example = PAIRS[field.name]
        told = f"{meaning} Here: {example}"
        parser.add_argument(option, dest=field.name, action="append", metavar=form, help=told)
    elif field.name == "if_busy":
        parser.add_argument(
            "--wait", dest=field.name, action="store_const", const="wait", help=f"{meaning} (default: skip)"
        )
    elif field.type is bool:
        parser.add_argument(name, action=argparse.BooleanOptionalAction, help=meaning)
    else:
        choices = get_args(field.type) if get_origin(field.type) is Literal else None
        usual = f" (default: {field.default})" if field.default else ""
        reader = READERS.get(field.type, str)
        parser.add_argument(name, type=reader, choices=choices, help=f"{meaning}{usual}")


def settings_of(given: dict[str, Any], config: Config) -> RetrainSettings:
    """Return the settings of a command line; limits of the data and gains are added to those of flows.yaml."""
    usual = RetrainSettings(if_busy="skip").complete(config)
    found = {name: assignments(given[name], last=name != "overrides") for name in PAIRS if name in given}
    for name, limits in (("data", usual.data), ("floors", usual.floors), ("gains", usual.gains)):
        both: dict[str, Any] = {**(limits or {}), **found.get(name, {})}
        found[name] = {pattern: limit for pattern, limit in both.items() if limit != NO_LIMIT}
    return replace(usual, **given | found)


def main() -> None:
    given = arguments()
    signal.signal(signal.SIGTERM, stop)
    refuse_read_only(Path.cwd())
    settings = settings_of(given, read_config(Path.cwd()))
    if os.environ.get("PREFECT_API_URL"):
        from prefect_dvc.retrain_flow import given_to_flow, retrain  # imports Prefect, which takes 2 s

        refuse_unkept(given_to_flow(settings))
        state = retrain(**given_to_flow(settings), return_state=True)
        if not state.is_completed():
            raise Refusal(state.message)
        return
    verdict = retrain_once(Path.cwd(), settings, run_in_threads, print, "prefect-dvc retrain")
    print(verdict.report)
    if verdict.decision is Decision.SKIPPED:
        raise Refusal(verdict.reason)
