"""A person's way: `make ui`, a run with parameters started from Prefect's own page, and its stages seen to the end."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PageTimeoutError

from prefect_dvc.server.reports import COOKIE
from tests.look import browser_needed, chromium
from tests.sockets import LOOPBACK, free_port, peers
from tests.waiting import LIMIT, wait_until

from .conftest import commit_all, git, make_repository, stage

ROOT = Path(__file__).parents[2]
SECONDS = 1000  # of Playwright's milliseconds

pytestmark = browser_needed


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make four stages, one of which wants a GPU, with this project's flows and deployments."""
    stages = {"a": stage("a"), "b": stage("b", "a", gpu=True), "c": stage("c", "a"), "d": stage("d", "b", "c")}
    root = make_repository(tmp_path_factory.mktemp("ui") / "workspace", stages)
    shutil.copytree(ROOT / "flows", root / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "prefect.yaml", root)
    with (root / ".gitignore").open("a", encoding="utf-8") as file:
        file.write("/.prefect/\n")
    commit_all(root, "Add the flows")
    return root


@pytest.fixture(scope="module")
def entrance(workspace: Path) -> Iterator[str]:
    """The link to Prefect's page that `prefect-dvc ui` prints once everything is up."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "prefect_dvc.cli", "ui", "--port", str(port)],
        cwd=workspace,
        env=os.environ | {"PREFECT_DVC_RESOURCES": "gpu: 1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        line = output.readline()
        assert f"Prefect is at http://127.0.0.1:{port}" in line, (process.poll(), _logs(workspace))
        yield line.split()[3]
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0


@pytest.fixture(scope="module")
def address(entrance: str) -> str:
    return entrance.partition("/enter#")[0]


def _logs(workspace: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8")[-2000:] for file in (workspace / ".prefect").glob("*.log"))


@pytest.fixture
def page(address: str) -> Iterator[Page]:
    """Open a page that may send requests only to the server."""
    asked: set[str] = set()
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(LIMIT * SECONDS)
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        yield page
    assert {host for host in asked if host} == {address.removeprefix("http://")}


def test_a_run_with_parameters(page: Page, address: str, entrance: str, workspace: Path) -> None:
    """The form, a stage as target, a changed parameter; the GPU stage runs in the second clone."""
    page.goto(entrance)
    page.wait_for_url(re.compile(f"{re.escape(address)}/dashboard"))
    assert [cookie["name"] for cookie in page.context.cookies()] == [COOKIE]
    _deployments(page, address)
    page.get_by_role("link", name="pipeline").first.click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("Custom run").click()
    _choose(page, "b")
    page.locator(".p-code-input__textarea").first.fill('{"stages.b.value": 7}')
    _picture(page, "form")
    page.goto(f"{address}/runs/flow-run/{_submitted(page)}")  # the notice with its link is soon gone
    for state in ("Ran on GPU worker", "Completed"):
        expect(page.get_by_text(f"Finished in state {state}").first).to_be_visible(timeout=LIMIT * SECONDS)
    _picture(page, "run")
    found = {pid: peers(pid) for pid in _processes(workspace)}
    assert len(found) >= 3  # the server and two workers
    assert set().union(*found.values()) <= LOOPBACK
    assert stat.S_IMODE((workspace / ".prefect/key").stat().st_mode) == 0o600
    kept = git(workspace, "for-each-ref", "--format=%(refname)", "refs/tags/prefect-dvc/runs")
    assert "value: 7" in git(workspace, "show", f"{kept}:params.yaml")


def _deployments(page: Page, address: str) -> None:
    """Open the list; loaded again where another writer had SQLite, as a person would: the page does not ask twice."""

    def listed() -> bool:
        page.goto(f"{address}/deployments")
        with suppress(PageTimeoutError):
            page.get_by_role("link", name="pipeline").first.wait_for(timeout=10 * SECONDS)
            return True
        return False

    wait_until(listed, "the deployments are listed")


def _choose(page: Page, target: str) -> None:
    """Choose the target from the form's list of stages; a click before the form is ready opens nothing."""
    option = page.get_by_role("option", name=target, exact=True)

    def offered() -> bool:
        page.locator(".p-select-button__icon").first.click()
        with suppress(PageTimeoutError):
            option.wait_for(timeout=2 * SECONDS)
            return True
        return False

    wait_until(offered, "the stages are offered")
    option.click()


def _submitted(page: Page) -> str:
    """The id of the run that the form asks for; sent again where another writer had SQLite, as a person would."""
    end = time.monotonic() + LIMIT
    while True:
        with page.expect_response("**/create_flow_run") as response:
            page.get_by_role("button", name="Submit").click()
        if response.value.status != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > end:
            break
        time.sleep(1)
    assert response.value.ok, response.value.text()
    return str(response.value.json()["id"])


def _processes(workspace: Path) -> list[int]:
    """Everything that works for this server."""
    home, found = f"PREFECT_HOME={workspace}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if home in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def _picture(page: Page, name: str) -> None:
    """Keep a picture for the documents if PICTURES says so."""
    if directory := os.environ.get("PICTURES"):
        time.sleep(1)  # until the animations have ended
        page.screenshot(path=f"{directory}/{name}.png")
