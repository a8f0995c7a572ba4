"""Prefect's server for its owner alone, on loopback: `prefect-dvc serve` in the repository's root.

key       .prefect/key, mode 600, made by the first start; every call of the API and every websocket needs it
Host      the server's own address, or 421: a page whose name leads to 127.0.0.1 still sends its own name
Origin    the server's own, or none, or 403: what a page of another origin sends never reaches Prefect
frames    none: no other page shows this one to steal a click
outside   nothing: Prefect's page would report its use to a company; the browser lets it reach only this server
/enter    reads the key after the `#` of the printed link, and logs the browser in
/reports  the reports of runs, see server/reports.py
/metrics  for a monitoring system, see server/metrics.py
history   flow runs and events of more than 90 days are removed by Prefect's own service
"""

import argparse
import os
import re
import secrets
import socket
import stat
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from prefect_dvc.errors import Refusal
from prefect_dvc.server.metrics import PLACE as METRICS
from prefect_dvc.server.metrics import Metrics
from prefect_dvc.server.reports import PLACE, Reports, page

HOST = "127.0.0.1"
PORT = 4200
HOME = Path(".prefect")
KEY = "key"  # file in the server's home
KEY_FORM = r"[\w.-]+:[\w-]{20,}"
USER = "prefect-dvc"
LONGEST = 1000  # characters of the file that are read
PAGE = Path(__file__).with_name("enter.html").read_text(encoding="utf-8")
SCRIPT = PAGE.partition("<script>")[2].partition("</script>")[0]
PAGE_POLICY = (
    f"default-src 'none'; connect-src 'self'; frame-ancestors 'none'; "
    f"script-src 'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'"
)


def refuse_taken(port: int) -> None:
    """Raise Refusal if another program answers at the port."""
    with socket.socket() as probe:
        if probe.connect_ex((HOST, port)) == 0:
            raise Refusal(
                f"{HOST}:{port} is already in use; stop the program there, or take another port: --port {port + 1} "
                f"(make ui PORT={port + 1})"
            )


def read_key(home: Path) -> str:
    """Read the server's key, USER:SECRET, from the directory of its state, or make one with 256 random bits.

    The directory becomes readable only for its owner. Raises Refusal if the file of the key is anybody else's.
    """
    path = home / KEY
    try:
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(stat.S_IRWXU)
        # Or the next run would take the key for a file of its own
        (home / ".gitignore").write_text("*\n", encoding="utf-8")
        if not os.path.lexists(path):
            _make_key(path)
    except OSError as error:
        raise Refusal(
            f"{home.absolute()} cannot be written ({error.strerror}), and the server keeps its key and its database "
            "there; set PREFECT_HOME to a folder of yours."
        ) from error
    remedy = f"remove it with `rm -r {path}`, and start the server again, which makes a new key"
    status = path.lstat()  # the folder is this user's alone, so nobody exchanges the file
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        mode = stat.filemode(status.st_mode)
        raise Refusal(f"The key {path} must be a file of this user with mode -rw-------, not {mode}; {remedy}")
    with path.open(encoding="ascii", errors="replace") as file:
        key = file.read(LONGEST).strip()
    if not re.fullmatch(KEY_FORM, key):
        raise Refusal(f"The key {path} has {len(key)} characters that are not of the form USER:SECRET; {remedy}")
    return key


def _make_key(path: Path) -> None:
    """Write a new key; of two servers that start at once, the first one's key stays."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{USER}:{secrets.token_urlsafe(32)}\n")
        try:
            path.hardlink_to(partial)
        except FileExistsError:
            return  # another server was faster
    finally:
        partial.unlink()


def origin_of(port: int) -> str:
    """Return the origin of the server's page on this machine."""
    return f"http://{HOST}:{port}"


def link(origin: str, key: str) -> str:
    """Return the address that logs a browser in; browsers never send the part after the `#` to a server."""
    return f"{origin}/enter#{key}"


class Gate:
    """An ASGI application in front of Prefect's, which refuses foreign names and foreign origins.

    `origins` are the server's own; messages show the first one: http://127.0.0.1:4200.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str], reports: Reports, metrics: Metrics | None = None) -> None:
        self.app = app
        self.reports, self.metrics = reports, metrics
        self.origins = [origin.lower() for origin in origins]
        self.hosts = [urlsplit(origin).netloc for origin in self.origins]
        sockets = [f"{scheme}://{host}" for host in self.hosts for scheme in ("ws", "wss")]
        policy = (
            "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'; form-action 'self'; "
            f"connect-src 'self' {' '.join([*self.origins, *sockets])}"
        )
        self.shield = {"x-frame-options": "DENY", "content-security-policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.shield)
            await send(message)

        if scope["type"] not in ("http", "websocket"):  # the start and the end of the server
            await self.app(scope, receive, send)
        elif refusal := self._refusal(Headers(scope=scope)):
            status, text = refusal
            refuse = page(status, f"{text}\n") if scope["type"] == "http" else WebSocketClose(1008, text)
            await refuse(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == "/enter":
            await page(200, PAGE, "text/html", content_security_policy=PAGE_POLICY)(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == METRICS and self.metrics is not None:
            await self.metrics(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(PLACE):
            await self.reports(scope, receive, send)
        else:
            await self.app(scope, receive, send_shielded)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        """Return status and text for a request that is not for this server or not from its own page; None if it is."""
        hosts, origins = ([value.lower() for value in headers.getlist(name)] for name in ("host", "origin"))
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            named = ", ".join(hosts) or "header is missing and"
            return 421, f"The Host {named} is not this server's; open {self.origins[0]}"
        if any(origin not in self.origins for origin in origins):
            return 403, f"Pages of {', '.join(origins)} may not use this server; its own page is {self.origins[0]}"
        return None


def serve(home: Path, port: int, others: Sequence[str] = ()) -> None:
    """Run the server until it is stopped, with its state and its key in `home`. Raises Refusal.

    `others` are the origins of a tunnel or a reverse proxy to the server: https://prefect.example.org.
    """
    origins = [origin_of(port), *others]
    os.environ |= {
        "PREFECT_HOME": str(home.absolute()),
        "PREFECT_SERVER_API_AUTH_STRING": read_key(home),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_UI_API_URL": f"{origins[-1]}/api",
        "PREFECT_SERVER_UI_V2_ENABLED": "false",  # it forgets the key if leaving a page cuts off its check (3.8.8)
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    os.environ.setdefault("PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED", "events,flow_runs")
    import uvicorn
    from prefect.server.api.server import create_app  # reads the settings of this process, so not before they are
    from prefect.settings import get_current_settings

    server = get_current_settings().server
    app, key = create_app(final=True), read_key(home)
    uvicorn.run(
        Gate(app, origins, Reports(home / "reports", key), Metrics(app, Path.cwd(), key)),
        host=HOST,
        port=port,
        timeout_keep_alive=server.api.keepalive_timeout,
        ws_ping_interval=server.api.websocket_ping_interval,
        ws_ping_timeout=server.api.websocket_ping_timeout,
        log_level=server.logging_level.lower(),
    )


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or text != f"{parts.scheme}://{parts.netloc}":
        raise argparse.ArgumentTypeError(f"'{text}' is not an origin; write it as in https://prefect.example.org")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Run Prefect's server, open only to its owner.")
    parser.add_argument("--port", type=int, default=PORT, help="port on 127.0.0.1")
    parser.add_argument(
        "--origin", type=_origin, action="append", default=[], help="origin of a tunnel or reverse proxy to the server"
    )
    parser.add_argument(
        "--no-link", dest="link", action="store_false", help="do not print the link, which holds the key"
    )
    options = parser.parse_args()
    home = Path(os.environ.get("PREFECT_HOME") or HOME)
    refuse_taken(options.port)
    if options.link:
        print(f"Log in: {link([origin_of(options.port), *options.origin][-1], read_key(home))}", flush=True)
    serve(home, options.port, options.origin)
