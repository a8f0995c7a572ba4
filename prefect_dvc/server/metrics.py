"""What a monitoring system asks: GET /metrics with the key, in the text format of Prometheus.

    prefect_dvc_flow_runs{state="Late"} 0

Promotions and the day of their data come from git's tags of the server's clone, all else from Prefect's own API.
"""

import hmac
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import anyio
import httpx
import yaml
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from prefect_dvc.errors import SettingsError
from prefect_dvc.server.reports import ASK, page
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.settings.graph_files import PARAMS
from prefect_dvc.settings.yaml_reader import read_yaml
from prefect_dvc.workspace.git import END, WorkspaceError, git, text_at

PLACE = "/metrics"
STAGE = "production"
WAITING = ("Scheduled", "Late", "Pending", "Running")  # names of states
FLOW = "retrain"
PAGE = 200
Values = Iterator[tuple[str, Mapping[str, str], float]]  # name, labels, value


class Metrics:
    """Answer /metrics for holders of the key, from Prefect's application and the tags of the clone `root`."""

    def __init__(self, app: ASGIApp, root: Path, key: str) -> None:
        self._app, self._root = app, root
        self._authorization = f"Basic {b64encode(key.encode()).decode()}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        given = Request(scope).headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), self._authorization.encode()):
            await page(401, "Log in with the key of the server.\n", www_authenticate=ASK)(scope, receive, send)
            return
        values = [*await self._runs(), *await anyio.to_thread.run_sync(partial(list, _promotion(self._root)))]
        lines = []
        for name, labels, value in values:
            told = ",".join(f'{key}="{text}"' for key, text in labels.items())  # no text has a "
            lines.append(f"prefect_dvc_{name}{{{told}}} {value:.0f}\n")
        await page(200, "".join(lines), "text/plain; version=0.0.4")(scope, receive, send)

    async def _runs(self) -> list[tuple[str, Mapping[str, str], float]]:
        """Count the runs that wait or work, and find the last end of a retraining by decision."""
        transport = httpx.ASGITransport(app=self._app)
        headers = {"authorization": self._authorization}
        async with httpx.AsyncClient(transport=transport, base_url="http://server/api", headers=headers) as client:
            found: list[tuple[str, Mapping[str, str], float]] = []
            for state in WAITING:
                wanted = {"flow_runs": {"state": {"name": {"any_": [state]}}}}
                count = (await client.post("/flow_runs/count", json=wanted)).raise_for_status().json()
                found.append(("flow_runs", {"state": state}, float(count)))
            ends = {"flows": {"name": {"any_": [FLOW]}}, "sort": "END_TIME_DESC", "limit": PAGE}
            last = dict[str, float]()
            for run in (await client.post("/flow_runs/filter", json=ends)).raise_for_status().json():
                if run["end_time"]:
                    last.setdefault(run["state_name"], datetime.fromisoformat(run["end_time"]).timestamp())
            return found + [
                ("last_retraining_timestamp_seconds", {"decision": name}, moment) for name, moment in last.items()
            ]


def _promotion(root: Path) -> Values:
    """Yield the moment of the last promotion, and the day of its data, as far as they are known."""
    with suppress(WorkspaceError, SettingsError):
        config = read_config(root)
        labels = {"artifact": config.registry.artifact, "stage": STAGE}
        tags = f"refs/tags/{config.registry.artifact}#{STAGE}#*"
        options = ["--sort=-creatordate", "--count=1", "--format=%(creatordate:unix) %(refname)", END, tags]
        moment, _, tag = git(root, "for-each-ref", *options).partition(" ")
        if not tag:
            return
        yield "last_promotion_timestamp_seconds", labels, float(moment)
        if (day := _day(root, tag, config.edition.snapshot)) is not None:
            yield "data_timestamp_seconds", labels, day


def _day(root: Path, tag: str, key: str | None) -> float | None:
    """Return the day of the data of a promoted version, None if its parameters have none."""
    with suppress(yaml.YAMLError, ValueError, AttributeError):
        value = read_yaml(text_at(root, f"{tag}^{{commit}}", PARAMS) or "")
        for part in (key or "").split("."):
            value = value.get(part)
        day = date.fromisoformat(str(value))
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return None
