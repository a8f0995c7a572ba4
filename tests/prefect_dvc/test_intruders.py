"""Nobody without the key starts a run, changes a deployment or reads a log: pages, foreign names, processes.

The same attacks succeed against Prefect's unprotected server, so a pass here is meaningful.
"""

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_connection
from typing import Any
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import LogCreate
from prefect.exceptions import PrefectHTTPStatusError
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_
from websockets.typing import Origin, Subprotocol

from prefect_dvc.errors import Refusal
from prefect_dvc.server.serve import KEY, link, read_key
from tests.look import browser_needed, chromium
from tests.waiting import SERVER_PAUSE, wait_until

from .handoff_server import Server, spawn

DASHBOARD = re.compile("/dashboard")
SECONDS = 600.0  # for anything, on a busy machine
MILLISECONDS = 1000 * SECONDS  # for Playwright
DIARY = "a line of a log that is nobody's business"
SOCKETS = ("logs/out", "events/in", "events/out", "task_runs/subscriptions/scheduled", "work_pools/gpu/workers/connect")
OPEN = {"/api/health", "/api/ready"}  # tell whether the server is there

# Each attempt names itself by `?by=`, so that the server's log shows when it has arrived.
ATTEMPTS = """
async ([api, deployment]) => {
  const told = {};
  const attempt = async (name, action) => {
    try { told[name] = String(await action()) } catch (error) { told[name] = `refused: ${error}` }
  };
  const send = async (path, name, options) => {
    const answer = await fetch(`${api}/${path}?by=${name}`, {method: "POST", ...options});
    return `${answer.status} ${await answer.text()}`;
  };
  const start = `deployments/${deployment}/create_flow_run`;
  const order = by => JSON.stringify({name: `intruder-${by}`, parameters: {protocol: 1, order: {}}});
  const bodies = {
    plain: by => new Blob([order(by)], {type: "text/plain"}),
    untyped: by => new Blob([order(by)]),
    json: by => new Blob([order(by)], {type: "application/json"}),
    form: by => new URLSearchParams({name: `intruder-${by}`}),
  };
  for (const mode of ["cors", "no-cors"])
    for (const [kind, body] of Object.entries(bodies)) {
      const name = `${mode}-${kind}`;
      await attempt(name, () => send(start, name, {mode, body: body(name)}));
    }
  await attempt("pause", () => send(`deployments/${deployment}/pause_deployment`, "pause", {mode: "no-cors"}));
  await attempt("patch", () => send(`deployments/${deployment}`, "patch", {
    method: "PATCH", body: JSON.stringify({description: "intruder"}), headers: {"content-type": "application/json"},
  }));
  await attempt("logs", () => send("logs/filter", "logs", {body: new Blob(["{}"])}));
  await attempt("runs", () => send("flow_runs/filter", "runs", {body: new Blob(["{}"])}));
  for (const path of ["logs/out", "events/in"])
    await attempt(path, () => new Promise((done, fail) => {
      const socket = new WebSocket(`${api.replace("http", "ws")}/${path}`, ["prefect"]);
      socket.onopen = () => socket.send(JSON.stringify({type: "auth", token: "guess"}));
      socket.onmessage = message => done(message.data);
      socket.onclose = event => fail(`closed ${event.code}`);
    }));
  await attempt("beacon", () => navigator.sendBeacon(`${api}/${start}?by=beacon`, bodies.untyped("beacon")));
  const form = document.createElement("form"), field = document.createElement("input");
  const frame = document.createElement("iframe");
  frame.name = form.target = "target";
  Object.assign(form, {method: "post", enctype: "text/plain", action: `${api}/${start}?by=form`});
  [field.name, field.value] = ['{"name": "intruder-form", "x": "', '"}'];
  form.append(field);
  document.body.append(frame, form);
  form.submit();
  return told;
}
"""


class PrefectsOwn(Server):
    """The server as it comes, as `prefect server start` starts it."""

    def start(self) -> None:
        command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = spawn(command, Path("/"), self.environment, self.log)
        wait_until(self.answers, f"the server answers; see {self.log}", pause=SERVER_PAUSE)


@dataclass
class House:
    """A server with something to steal: a deployment to start, and a run with a line in its log."""

    server: Server
    deployment: UUID

    def harm(self) -> list[str]:
        """List the effects of an intruder."""
        with self.server.client() as client:
            names = [run.name for run in client.read_flow_runs(limit=200)]
            deployment = client.read_deployment(self.deployment)
        changed = ["paused"] * deployment.paused + ["patched"] * (deployment.description == "intruder")
        return sorted([name for name in names if name.startswith("intruder")] + changed)

    def statuses(self) -> dict[str, list[int]]:
        """How the server has answered each attempt that has arrived, by its name."""
        found: dict[str, list[int]] = {}
        for line in self.server.log.read_text(encoding="utf-8", errors="replace").splitlines():
            if "?by=" in line and "OPTIONS" not in line:
                found.setdefault(line.partition("?by=")[2].split()[0], []).append(int(line.split('"')[2].split()[0]))
        return found


@contextmanager
def furnished(server: Server) -> Iterator[House]:
    server.start()
    try:
        server.deploy()
        with server.client() as client:
            deployment = client.read_deployment_by_name("gpu-stage/gpu-stage").id
            run = client.create_flow_run_from_deployment(
                deployment, name="mine", parameters={"protocol": 1, "order": {}}
            )
            line = LogCreate(name="x", level=20, message=DIARY, timestamp=datetime.now(UTC), flow_run_id=run.id)
            client.create_logs([line])
        yield House(server, deployment)
    finally:
        server.stop()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with furnished(Server(tmp_path_factory.mktemp("prefect"))) as house:
        yield house


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of a foreign page on loopback."""
    directory = tmp_path_factory.mktemp("foreign")
    (directory / "index.html").write_text("<!doctype html><title>Kittens</title><body>", encoding="utf-8")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for which evil.example leads to this machine, as in DNS rebinding."""
    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(MILLISECONDS)
    yield page
    context.close()


def attack(page: Page, house: House, origin: str) -> dict[str, str]:
    """Return the answers to all attempts of a page of `origin`, once all have arrived."""
    page.goto(origin)
    told: dict[str, str] = page.evaluate(ATTEMPTS, [house.server.api, str(house.deployment)])
    wait_until(lambda: {"beacon", "form"} <= house.statuses().keys(), "the last attempts have arrived")
    return told


@browser_needed
@pytest.mark.fault(32)
def test_a_page_of_another_origin(page: Page, house: House, foreign: str) -> None:
    """In a browser that is logged in: nothing is started, changed or read, whatever the page tries."""
    page.goto(link(house.server.origin, house.server.key))
    page.wait_for_url(DASHBOARD)
    told = attack(page, house, foreign)
    assert len(told) == 15
    assert [name for name, text in told.items() if not text.startswith("refused: ")] == [
        name for name in told if name.startswith("no-cors") or name in ("pause", "beacon")
    ]
    assert {told[name] for name in told if name.startswith("no-cors") or name == "pause"} <= {"0 "}
    assert {status for statuses in house.statuses().values() for status in statuses} == {HTTPStatus.FORBIDDEN}
    assert DIARY not in json.dumps(told)
    assert house.harm() == []


@browser_needed
def test_the_attempts_are_real(page: Page, foreign: str, tmp_path: Path) -> None:
    """Against Prefect's server as it comes, they start runs, change the deployment and read the log."""
    with furnished(PrefectsOwn(tmp_path)) as house:
        told = attack(page, house, foreign)
        harm = house.harm()
    assert {"intruder-cors-untyped", "intruder-no-cors-untyped", "intruder-beacon", "paused", "patched"} <= set(harm)
    assert DIARY in told["logs"]
    assert "auth_success" in told["logs/out"]


@browser_needed
def test_a_name_that_leads_here(page: Page, house: House) -> None:
    """DNS rebinding: a page of evil.example whose name now means this machine is of the server's own origin."""
    port = house.server.port
    answer = page.goto(f"http://evil.example:{port}/")
    assert answer is not None
    assert answer.status == HTTPStatus.MISDIRECTED_REQUEST
    assert answer.text() == (f"The Host evil.example:{port} is not this server's; open http://127.0.0.1:{port}\n")
    statuses = page.evaluate(
        """async paths => Promise.all(
            paths.map(async path => (await fetch(path, {method: "POST", body: "{}"})).status)
        )""",
        ["/api/logs/filter", f"/api/deployments/{house.deployment}/create_flow_run", "/enter"],
    )
    assert set(statuses) == {HTTPStatus.MISDIRECTED_REQUEST}
    assert house.harm() == []


@browser_needed
def test_no_other_page_shows_it(page: Page, house: House, foreign: str) -> None:
    """No other page can show the page in a frame and steal a click."""
    page.goto(foreign)
    frames = [f"{house.server.origin}/", f"{house.server.origin}/enter"]
    page.evaluate(
        """addresses => Promise.all(addresses.map(address => new Promise(done => {
            const frame = Object.assign(document.createElement("iframe"), {src: address, onload: done});
            document.body.append(frame);
        })))""",
        frames,
    )
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"] * 2


@browser_needed
def test_a_wrong_key_is_not_kept(page: Page, house: House) -> None:
    page.goto(link(house.server.origin, "distillery:wrong"))
    expect(page.get_by_text("The key in this link is not the server's")).to_be_visible(timeout=MILLISECONDS)
    assert page.evaluate("localStorage.length") == 0


@browser_needed
def test_the_key_can_be_typed(page: Page, house: House) -> None:
    """Without the link, Prefect's own page asks for the key."""
    page.goto(f"{house.server.origin}/runs")
    page.locator("input[type=password]").fill(house.server.key)
    page.locator("button[type=submit]").click()
    expect(page.get_by_text("mine").first).to_be_visible(timeout=MILLISECONDS)


def paths(house: House) -> list[tuple[str, str]]:
    """Every method and path of the API."""
    answer = httpx.get(f"{house.server.api}/openapi.json", auth=house.server.auth, timeout=SECONDS)
    found = answer.raise_for_status().json()["paths"]
    return [(method.upper(), f"/api{path}") for path, methods in found.items() for method in methods]


@pytest.mark.parametrize("key", [None, ("distillery", "guess"), ("", "")], ids=["none", "wrong", "empty"])
def test_a_process_without_the_key(house: House, key: tuple[str, str] | None) -> None:
    """Each path of the API asks for the key, also from a process on this machine."""
    asked = [(method, path) for method, path in paths(house) if path not in OPEN]
    assert len(asked) > 100
    with httpx.Client(base_url=house.server.origin, auth=key, timeout=SECONDS) as client:
        answered = {
            (method, path): client.request(method, path.replace("{", "").replace("}", ""), json={}).status_code
            for method, path in asked
        }
    assert {ask: status for ask, status in answered.items() if status != HTTPStatus.UNAUTHORIZED} == {}
    with SyncPrefectClient(house.server.api) as client, pytest.raises(PrefectHTTPStatusError, match="401"):
        client.read_flow_runs()
    assert house.harm() == []


def connect(address: str, **options: Any) -> ClientConnection:
    return connect_(address, open_timeout=SECONDS, ping_timeout=None, **options)


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_without_the_key(house: House, path: str) -> None:
    """No event comes in and no log goes out: not without Prefect's protocol, a key, an own origin or an own name."""
    address = f"{house.server.api.replace('http', 'ws')}/{path}"
    protocol = [Subprotocol("prefect")]
    with pytest.raises(InvalidStatus, match="403"), connect(address):
        pass
    with pytest.raises(InvalidStatus, match="403"), connect(address, subprotocols=protocol, origin=Origin("http://x")):
        pass
    host = f"evil.example:{house.server.port}"
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://{host}/api/{path}", subprotocols=protocol, sock=create_connection(house.server.address)),
    ):
        pass
    for token in (None, "guess"):
        with connect(address, subprotocols=protocol) as socket:
            socket.send(json.dumps({"type": "auth", "token": token}))
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=SECONDS)
    with connect(address, subprotocols=protocol) as socket:
        socket.send(json.dumps({"type": "auth", "token": house.server.key}))
        assert json.loads(socket.recv(timeout=SECONDS)) == {"type": "auth_success"}


def read_logs(house: House, headers: dict[str, str]) -> httpx.Response:
    """Return the server's answer to a request with the key."""
    address = f"{house.server.api}/logs/filter"
    return httpx.post(address, json={}, auth=house.server.auth, headers=headers, timeout=SECONDS)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4200", "localhost:1", "127.0.0.1", ""])
def test_a_foreign_host_with_the_key(house: House, host: str) -> None:
    """Not even the key helps a request with a foreign Host."""
    answer = read_logs(house, {"Host": host})
    assert answer.status_code == HTTPStatus.MISDIRECTED_REQUEST
    assert answer.text.endswith(f"is not this server's; open {house.server.origin}\n")


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "http://localhost:4200", "null", "https://evil.example"])
def test_a_foreign_origin_with_the_key(house: House, origin: str) -> None:
    answer = read_logs(house, {"Origin": origin})
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert answer.text == f"Pages of {origin} may not use this server; its own page is {house.server.origin}\n"


def test_its_own_page(house: House) -> None:
    """CORS names only the server's own origin."""
    answer = read_logs(house, {"Origin": house.server.origin})
    assert DIARY in answer.text
    assert answer.headers["access-control-allow-origin"] == house.server.origin
    assert answer.headers["x-frame-options"] == "DENY"


def test_the_key_is_its_owners(tmp_path: Path) -> None:
    """Mode 600 in a directory of mode 700, the same one the next time, and another one elsewhere."""
    key = read_key(tmp_path / "home")
    assert stat.S_IMODE((tmp_path / "home" / KEY).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert len(key) >= len("prefect-dvc:") + 43
    assert read_key(tmp_path / "home") == key
    assert read_key(tmp_path / "other") != key
    assert sorted(file.name for file in (tmp_path / "home").iterdir()) == [".gitignore", KEY]


def _readable(path: Path) -> None:
    path.write_text("distillery:" + "x" * 43, encoding="ascii")
    path.chmod(0o640)


def _empty(path: Path) -> None:
    path.touch(mode=0o600)


def _link(path: Path) -> None:
    target = path.with_name("elsewhere")
    _readable(target)
    target.chmod(0o600)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_readable, "must be a file of this user with mode -rw-------, not -rw-r-----"),
        (_empty, "has 0 characters that are not of the form USER:SECRET"),
        (_link, "must be a file of this user with mode -rw-------, not lrwxrwxrwx"),
        (partial(os.mkfifo, mode=0o600), "must be a file of this user with mode -rw-------, not prw-------"),
        (Path.mkdir, "must be a file of this user"),
    ],
    ids=["readable", "empty", "link", "fifo", "directory"],
)
def test_another_key_is_refused(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    """The message names the file and the remedy."""
    make(tmp_path / KEY)
    with pytest.raises(
        Refusal, match=rf"The key {tmp_path / KEY} {why}.*; remove it with `rm -r .*`, and start the server again"
    ):
        read_key(tmp_path)


def test_two_servers_start_at_once(tmp_path: Path) -> None:
    """They have one key."""
    keys: list[str] = []
    together = threading.Barrier(8)

    def read() -> None:
        together.wait()
        keys.append(read_key(tmp_path))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1
