"""A small model hub on loopback: it serves directories as repositories, and takes commits, as huggingface.co does."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Hub:
    """A running hub: its address, and the paths that were asked for."""

    address: str
    asked: list[str] = field(default_factory=list)


COMMIT = 40  # digits of one; a branch has the first commit of its repository


def digest(content: bytes) -> str:
    """Return what the hub identifies a file by."""
    return hashlib.sha1(content).hexdigest()


def ask(address: str, monkeypatch: pytest.MonkeyPatch, cache: Path | None = None) -> None:
    """Let huggingface_hub ask this hub, as HF_ENDPOINT does before it is imported, perhaps with another cache."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    if cache is not None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))


@contextmanager
def serving(repositories: Mapping[tuple[str, str], Path], uploads: Path | None = None) -> Iterator[Hub]:
    """Serve directories, each as the repository and the revision (a commit) that its key names.

    The files of a commit go to `uploads`, below the name of the repository.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(True)

        def do_HEAD(self) -> None:
            self.answer(False)

        def do_POST(self) -> None:
            """Create a repository, check its card, say how files are uploaded, or take a commit."""
            path = self.path.partition("?")[0]
            hub.asked.append(path)
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if uploads is None or self.headers["Authorization"] != "Bearer hf_right":
                self.send_error(401)
                return
            found: dict[str, object] = {}
            if path == "/api/repos/create":
                about = json.loads(content)
                found = {"url": f"{hub.address}/{about.get('organization', 'me')}/{about['name']}"}
            elif "/preupload/" in path:
                names = [each["path"] for each in json.loads(content)["files"]]
                files = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
                found = {"files": files}
            elif "/commit/" in path:
                repository = path.removeprefix("/api/models/").partition("/commit/")[0]
                for line in content.splitlines():
                    entry = json.loads(line)
                    if entry["key"] == "file":
                        target = uploads / repository / entry["value"]["path"]
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(base64.b64decode(entry["value"]["content"]))
                oid = "c" * 40
                found = {"success": True, "commitOid": oid, "commitUrl": f"{hub.address}/{repository}/commit/{oid}"}
            self.send(json.dumps(found).encode(), "main", True)

        def answer(self, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(path)
            for (repository, revision), directory in repositories.items():
                commits = [other for name, other in repositories if name == repository and len(other) == COMMIT]
                commit = revision if len(revision) == COMMIT or not commits else commits[0]
                files = f"/{repository}/resolve/{revision}/"
                if path == f"/api/models/{repository}/revision/{revision}":
                    names = [{"rfilename": each.name} for each in sorted(directory.iterdir())]
                    about = {"id": repository, "modelId": repository, "sha": commit, "siblings": names}
                    return self.send(json.dumps(about).encode(), commit, with_body)
                if path == f"/api/models/{repository}/tree/{revision}":
                    found = [(each, each.read_bytes()) for each in sorted(directory.iterdir())]
                    tree = [{"type": "file", "path": each.name, "size": len(c), "oid": digest(c)} for each, c in found]
                    return self.send(json.dumps(tree).encode(), commit, with_body)
                if path.startswith(files) and (file := directory / path.removeprefix(files)).is_file():
                    return self.send(file.read_bytes(), commit, with_body)
            self.send_error(404)
            return None

        def send(self, content: bytes, revision: str, with_body: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Repo-Commit", revision)
            self.send_header("ETag", f'"{digest(content)}"')
            self.end_headers()
            if with_body:
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = Hub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
