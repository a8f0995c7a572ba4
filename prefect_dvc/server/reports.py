"""The reports of runs, as pages of the server: a run sends its report, and Prefect's page has the link.

    PUT /reports/20261127-101500-3fa2       by a run, with the key in the Authorization header
    GET /reports/login                      by /enter, with the key: sets a cookie
    GET /reports/20261127-101500-3fa2       by a browser, with this cookie, or with the key as its password

A browser sends a cookie to every port of a host, so it is not the key but a hash of it, which reads reports and nothing
else. A report comes from a run, which may be anybody's code, so its page is a sandbox: it can neither read the key that
the browser keeps for Prefect's page nor send anything anywhere.
"""

import hmac
import os
import re
import sys
import time
from base64 import b64encode
from pathlib import Path

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PLACE = "/reports/"
NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
LOGIN = "login"
COOKIE = "prefect-dvc-reports"
KEPT_DAYS, KEPT = 90, 100  # reports that are older, and not among so many newest ones, are removed
LARGEST = 32 * 2**20  # bytes
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; font-src data:; "
    "sandbox allow-scripts"
)
ASK = 'Basic realm="prefect-dvc", charset="UTF-8"'


def page(status: int, text: str, kind: str = "text/plain", **headers: str) -> Response:
    """Return a response that nobody may keep or show in a frame; `_` in the name of a header is a hyphen."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text, status, {"cache-control": "no-store", "x-frame-options": "DENY", **given}, kind)


class Reports:
    """Keep and show reports, one file each in a directory that has nothing else, for holders of the key."""

    def __init__(self, directory: Path, key: str) -> None:
        self.directory = directory
        self._authorization = f"Basic {b64encode(key.encode()).decode()}"
        self._cookie = hmac.new(key.encode(), COOKIE.encode(), "sha256").hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path begins with PLACE."""
        await (await self._answer(Request(scope, receive)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        name = str(request.scope["path"]).removeprefix(PLACE)
        path = self.directory / name
        if not self._allowed(request):
            return page(401, "Log in with the key of the server.\n", www_authenticate=ASK)
        if name == LOGIN and request.method == "GET":
            cookie = f"{COOKIE}={self._cookie}; Path={PLACE}; HttpOnly; SameSite=Strict"
            return page(200, "logged in\n", set_cookie=cookie)
        if NAME.fullmatch(name) and request.method == "PUT":
            return await self._keep(path, request)
        if NAME.fullmatch(name) and request.method == "GET" and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            return page(200, text, "text/html", content_security_policy=POLICY)
        return page(404, f"The report '{name}' does not exist.\n")

    def _allowed(self, request: Request) -> bool:
        """Return whether the request has the key, or the cookie, which only reads, since a browser sends it unasked."""
        given = [(request.headers.get("authorization", ""), self._authorization)]
        if request.method == "GET":
            given.append((request.cookies.get(COOKIE, ""), self._cookie))
        return any(hmac.compare_digest(token.encode(), expected.encode()) for token, expected in given)

    async def _keep(self, path: Path, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                return page(413, f"A report has at most {LARGEST >> 20} MiB.\n")
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(body)
        partial.replace(path)
        self._forget()
        return page(201, "kept\n")

    def _forget(self) -> None:
        """Remove reports that are old and not among the newest; a name begins with its time."""
        oldest = time.time() - KEPT_DAYS * 86_400
        for file in sorted(self.directory.iterdir())[:-KEPT]:
            if file.stat().st_mtime < oldest:
                file.unlink()


def send_report(name: str, report: Path) -> str | None:
    """Send the report of run `name` to the server of this process; return its path there, or None if it takes none.

    Prefect's own server, started without server/serve.py, has no reports.
    """
    api, key = (os.environ.get(f"PREFECT_API_{word}", "") for word in ("URL", "AUTH_STRING"))
    address = f"{api.removesuffix('/api')}{PLACE}{name}"
    user, _, secret = key.partition(":")
    try:
        told = httpx.put(address, content=report.read_bytes(), auth=(user, secret), timeout=60)
    except httpx.HTTPError as error:
        print(f"The report was not sent to {address}: {error}", file=sys.stderr)
        return None
    return f"{PLACE}{name}" if told.status_code == httpx.codes.CREATED else None
