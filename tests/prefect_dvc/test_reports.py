"""Reports of runs on the server's page, and the lines that errors of remotes become."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from prefect_dvc.errors import reasons
from prefect_dvc.server import reports
from prefect_dvc.server.reports import COOKIE, LOGIN, PLACE, Reports
from prefect_dvc.server.serve import Gate

ORIGIN = "http://127.0.0.1:4200"
KEY = "distillery:" + "x" * 43
NAME = "20261127-101500-3fa2"
AUTH = ("distillery", "x" * 43)
PAGE = "<!doctype html><title>A report</title>"


async def prefect(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for Prefect's application, which must not get these requests."""
    raise AssertionError(scope["path"])


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., httpx.Response]:
    gate = Gate(prefect, [ORIGIN], Reports(tmp_path / "reports", KEY))

    def ask(method: str, name: str = NAME, **options: Any) -> httpx.Response:
        async def answer() -> httpx.Response:
            transport = httpx.ASGITransport(app=gate)
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
                return await client.request(method, f"{PLACE}{name}", **options)

        return asyncio.run(answer())

    return ask


def test_a_report_is_kept_and_shown(ask: Callable[..., httpx.Response]) -> None:
    """A run sends it with the key; a browser that has the cookie of /enter, or the key as its password, sees it."""
    assert ask("GET", auth=AUTH).status_code == 404
    assert ask("PUT", content=PAGE, auth=AUTH).status_code == 201
    cookie = ask("GET", LOGIN, auth=AUTH).headers["set-cookie"]
    assert cookie.endswith(f"; Path={PLACE}; HttpOnly; SameSite=Strict")
    cookie = cookie.partition(";")[0]
    for options in ({"auth": AUTH}, {"headers": {"cookie": f"other=1; {cookie}"}}):
        shown = ask("GET", **options)
        assert (shown.status_code, shown.text) == (200, PAGE)
        assert "sandbox allow-scripts" in shown.headers["content-security-policy"]
    assert ask("PUT", content="x", headers={"cookie": cookie}).status_code == 401
    assert ask("GET", auth=AUTH).text == PAGE


@pytest.mark.fault(32)
def test_the_cookie_is_not_the_key(ask: Callable[..., httpx.Response]) -> None:
    """A browser sends it to all ports of this machine, so whoever has it must not get in with it."""
    token = base64.b64encode(":".join(AUTH).encode()).decode()
    name, _, value = ask("GET", LOGIN, auth=AUTH).headers["set-cookie"].partition(";")[0].partition("=")
    assert AUTH[1] not in value and token not in value
    assert ask("GET", headers={"cookie": f"{name}={token}"}).status_code == 401
    for given in (value, base64.b64encode(f"{AUTH[0]}:{value}".encode()).decode()):
        assert ask("GET", headers={"authorization": f"Basic {given}"}).status_code == 401
        assert ask("PUT", content="x", headers={"authorization": f"Basic {given}"}).status_code == 401


def test_a_stranger_gets_none(ask: Callable[..., httpx.Response], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither without the key, nor under another name, nor from another origin; and a file is never outside."""
    for options in ({}, {"auth": ("distillery", "guess")}, {"headers": {"cookie": f"{COOKIE}=guess"}}):
        asked = ask("GET", **options)
        assert (asked.status_code, asked.headers["www-authenticate"].partition(" ")[0]) == (401, "Basic")
        assert ask("PUT", content="x", **options).status_code == 401
    for name in ("..%2Fkey", "key", f"{NAME}/x", ""):
        assert ask("GET", name, auth=AUTH).status_code == 404
        assert ask("PUT", name, auth=AUTH, content="x").status_code == 404
    assert ask("GET", auth=AUTH, headers={"host": "evil.example"}).status_code == 421
    assert ask("PUT", auth=AUTH, content="x", headers={"origin": "https://evil.example"}).status_code == 403
    assert ask("DELETE", auth=AUTH).status_code == 404
    monkeypatch.setattr(reports, "LARGEST", 10)
    assert ask("PUT", auth=AUTH, content="x" * 11).status_code == 413


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (ImportError("s3 is supported, but requires 'dvc-s3' to be installed"), "Install it: pip install dvc-s3"),
        (FileNotFoundError("The specified bucket does not exist"), "Create it, or correct the address: dvc remote"),
        (OSError("Could not connect to the endpoint URL:\n'http://x'"), "Start the remote's host or correct"),
    ],
)
def test_one_line_with_the_remedy(error: Exception, remedy: str) -> None:
    line = reasons(error)
    assert line.startswith(f"{type(error).__name__}: ")
    assert remedy in line
    assert "\n" not in line
