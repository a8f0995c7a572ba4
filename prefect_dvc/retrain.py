"""Retraining from the command line; with a Prefect server (PREFECT_API_URL) it is the flow of retrain_flow.py.

prefect-dvc retrain --snapshot 2026-11-21 --profile best
prefect-dvc retrain --tolerance 'student/*/spearman=0.01' --remote origin
"""

import argparse
import os
import signal
import sys
from datetime import date
from pathlib import Path

from prefect_dvc.pipeline import run_in_threads, stop
from prefect_dvc.registry.promotion import Channel, channel_arguments
from prefect_dvc.retraining import REPORTED, Decision, RetrainSettings, day_in, retrain_once
from prefect_dvc.settings.flows_yaml import Tolerance, read_config
from prefect_dvc.settings.parameters import assignments
from prefect_dvc.settings.yaml_reader import read_yaml

NO_LIMIT = "none"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="prefect-dvc retrain", description="Retrain, compare, promote.")
    parser.add_argument("--snapshot", type=date.fromisoformat, help="day of the data (default: today)")
    parser.add_argument("--snapshot-key", help="the parameter that gets the day")
    parser.add_argument("--timezone", default="UTC", help="the timezone of today")
    parser.add_argument("--profile", help="a profile (default: params.yaml unchanged)")
    parser.add_argument("--site", help="a site that goes with the profile")
    parser.add_argument("--source", help="git remote from which the revision is fetched first (default: none)")
    parser.add_argument(
        "--wait", action="store_true", help="wait if another retraining is in progress (default: do nothing)"
    )
    parser.add_argument(
        "--data",
        action="append",
        metavar="GATE=LIMIT",
        help="an allowed change of the data, such as rows=30%%; =none: no gate",
    )
    parser.add_argument(
        "--gain",
        action="append",
        default=[],
        metavar="METRIC=GAIN",
        help="a gain that a promotion needs, such as 0.002; =none: no gain needed",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter to change")
    parser.add_argument(
        "--tolerance", action="append", default=[], metavar="METRIC=LOSS", help="an allowed loss, such as 0.005 or 5%%"
    )
    parser.add_argument(
        "--no-promote", dest="promote", action="store_false", help="compare and report, without promoting"
    )
    parser.add_argument("--revision", default="HEAD", help="commit or branch to start from")
    parser.add_argument("--gpu", choices=("prefer", "require", "local"), default="prefer", help="where GPU stages run")
    parser.add_argument("--parallel", type=int, default=2, help="number of stages at a time")
    parser.add_argument("--keep-runs", type=int, default=100, help="number of kept runs that stay, however old")
    parser.add_argument(
        "--keep-days", type=int, default=90, help="age in days up to which kept runs stay, however many"
    )
    parser.add_argument(
        "--keep-versions", type=int, default=20, help="number of promoted versions that stay, however old"
    )
    parser.add_argument(
        "--keep-version-days", type=int, default=365, help="age in days up to which versions stay, however many"
    )
    channel_arguments(parser)
    return parser.parse_args()


def _limits(given: list[str]) -> dict[str, Tolerance]:
    return {pattern: read_yaml(limit) for pattern, _, limit in (pair.rpartition("=") for pair in given)}


def main() -> None:
    options = vars(arguments())
    signal.signal(signal.SIGTERM, stop)
    try:
        config = read_config(Path.cwd())
        options["tolerances"] = _limits(options.pop("tolerance")) or None
        gains = {**config.registry.gains, **_limits(options.pop("gain"))}
        options["gains"] = {name: gain for name, gain in gains.items() if gain != NO_LIMIT}
        data = {**config.edition.limits, **_limits(options.pop("data") or [])}
        options["data"] = {name: limit for name, limit in data.items() if limit != NO_LIMIT}
        options["overrides"] = assignments(options.pop("set"))
        options["artifact"] = options["artifact"] or config.registry.artifact
        if os.environ.get("PREFECT_API_URL"):
            from prefect_dvc.retrain_flow import retrain  # imports Prefect, which takes 2 s

            options["if_busy"] = "wait" if options.pop("wait") else "skip"
            state = retrain(**{name: value for name, value in options.items() if value is not None}, return_state=True)
            if not state.is_completed():
                sys.exit(f"retrain: {state.message}")
            return
        day = day_in(options.pop("timezone"))
        channel = Channel(**{name: options.pop(name) for name in ("artifact", "stage", "branch", "remote")})
        verdict = retrain_once(
            Path.cwd(),
            RetrainSettings(**options, day=day, channel=channel),
            run_in_threads,
            print,
            "prefect-dvc retrain",
        )
    except REPORTED as error:
        sys.exit(f"retrain: {error}")
    print(verdict.report)
    if verdict.decision is Decision.SKIPPED:
        sys.exit(f"retrain: {verdict.reason}")


if __name__ == "__main__":
    main()
