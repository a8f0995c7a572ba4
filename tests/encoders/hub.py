"""A small model hub on loopback: it serves a directory as a repository at one revision, as huggingface.co does."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Hub:
    """A running hub: its address, and the paths that were asked for."""

    address: str
    asked: list[str] = field(default_factory=list)


def digest(content: bytes) -> str:
    """Return what the hub identifies a file by."""
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving(repositories: Mapping[tuple[str, str], Path]) -> Iterator[Hub]:
    """Serve directories, each as the repository and the revision (a commit) that its key names."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(True)

        def do_HEAD(self) -> None:
            self.answer(False)

        def answer(self, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(path)
            for (repository, revision), directory in repositories.items():
                files = f"/{repository}/resolve/{revision}/"
                if path == f"/api/models/{repository}/revision/{revision}":
                    names = [{"rfilename": each.name} for each in sorted(directory.iterdir())]
                    about = {"id": repository, "modelId": repository, "sha": revision, "siblings": names}
                    return self.send(json.dumps(about).encode(), revision, with_body)
                if path == f"/api/models/{repository}/tree/{revision}":
                    tree = [
                        {
                            "type": "file",
                            "path": each.name,
                            "size": each.stat().st_size,
                            "oid": digest(each.read_bytes()),
                        }
                        for each in sorted(directory.iterdir())
                    ]
                    return self.send(json.dumps(tree).encode(), revision, with_body)
                if path.startswith(files) and (file := directory / path.removeprefix(files)).is_file():
                    return self.send(file.read_bytes(), revision, with_body)
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
