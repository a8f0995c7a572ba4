"""The reports of runs, as pages of the server: a run sends its report, and Prefect's page has the link.

    PUT /reports/20261127-101500-3fa2       by a run, with the key in the Authorization header
    GET /reports/login                      by /enter, with the key: sets a cookie
    GET /reports/20261127-101500-3fa2       by a browser, with this cookie, or with the key as its password

A browser sends a cookie to every port of a host, so that another user's server on this machine may get it. So it is not
the key but a hash of it, which reads reports and nothing else.

A report comes from a run, which may be anybody's code. So its page is a sandbox: it can neither read the key that the
browser keeps for Prefect's page nor send anything anywhere.
"""

import hmac
import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx

from prefect_dvc.server.asgi import Message, Receive, Send, answer

PLACE = "/reports/"
NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
LOGIN = "login"
COOKIE = "prefect-dvc-reports"
LARGEST = 32 * 2**20  # bytes
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; font-src data:; "
    b"sandbox allow-scripts"
)
ASK = (b"www-authenticate", b'Basic realm="prefect-dvc", charset="UTF-8"')


class Reports:
    """Keep and show reports, one file each, for holders of the key.

    Args:
        directory: The files, and nothing else.
        key: USER:SECRET.
    """

    def __init__(self, directory: Path, key: str) -> None:
        self.directory = directory
        self._token = b64encode(key.encode()).decode()
        self._cookie = hmac.new(key.encode(), COOKIE.encode(), "sha256").hexdigest()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request whose path begins with PLACE."""
        name, method = scope["path"].removeprefix(PLACE), scope["method"]
        if not self._allowed(scope, method):
            await answer(send, 401, "text/plain; charset=utf-8", "Log in with the key of the server.\n", ASK)
        elif name == LOGIN and method == "GET":
            cookie = f"{COOKIE}={self._cookie}; Path={PLACE}; HttpOnly; SameSite=Strict"
            await answer(send, 200, "text/plain; charset=utf-8", "logged in\n", (b"set-cookie", cookie.encode()))
        elif not NAME.fullmatch(name) or method not in ("GET", "PUT"):
            await answer(send, 404, "text/plain; charset=utf-8", f"The report '{name}' does not exist.\n")
        elif method == "PUT":
            await self._keep(name, receive, send)
        else:
            await self._show(name, send)

    def _allowed(self, scope: Message, method: str) -> bool:
        """Return whether the request has the key, or the cookie, which only reads, since a browser sends it unasked."""
        given = [(token, self._token) for token in _given(scope, b"authorization", "Basic ")]
        if method == "GET":
            given += [(token, self._cookie) for token in _given(scope, b"cookie", f"{COOKIE}=")]
        return any(hmac.compare_digest(token.encode(), expected.encode()) for token, expected in given)

    async def _keep(self, name: str, receive: Receive, send: Send) -> None:
        body = b""
        while len(body) <= LARGEST:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if len(body) > LARGEST:
            await answer(send, 413, "text/plain; charset=utf-8", f"A report has at most {LARGEST >> 20} MiB.\n")
            return
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = self.directory / f".{name}.partial"
        partial.write_bytes(body)
        partial.replace(self.directory / name)
        await answer(send, 201, "text/plain; charset=utf-8", "kept\n")

    async def _show(self, name: str, send: Send) -> None:
        path = self.directory / name
        if path.is_file():
            page = path.read_text(encoding="utf-8", errors="replace")
            await answer(send, 200, "text/html; charset=utf-8", page, (b"content-security-policy", POLICY))
        else:
            await answer(send, 404, "text/plain; charset=utf-8", f"The report '{name}' does not exist.\n")


def _given(scope: Message, header: bytes, start: str) -> Iterator[str]:
    """Yield the text after `start` in the values of a header."""
    for name, value in scope["headers"]:
        for part in value.decode("latin-1").split(";") if name.lower() == header else ():
            if part.strip().startswith(start):
                yield part.strip().removeprefix(start)


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
