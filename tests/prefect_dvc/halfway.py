"""A DVC remote over HTTP whose link breaks in the middle of an object."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGE = 2**16  # bytes; smaller objects and entries of the run-cache pass whole


class Store:
    """A directory that takes PUT and gives GET, on loopback.

    `cut` breaks one transfer of a large object after half of its bytes: its connection is reset, or it hangs, and all
    others, too, until `mend`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.meanwhile: Callable[[], None] = lambda: None  # called when half has passed
        self.broken: list[tuple[str, int, int]] = []  # method, bytes that passed, bytes of the object
        self._whole = threading.Event()
        self._whole.set()
        self._armed: tuple[str, int, bool] | None = None
        self._lock = threading.Lock()

    def cut(self, method: str, number: int, *, hang: bool = False) -> None:
        """Break the `number`th large transfer from now on."""
        self._armed = (method, number, hang)

    def mend(self) -> None:
        self._whole.set()

    def wait(self) -> None:
        """Wait until the link is whole."""
        self._whole.wait()

    def part(self, method: str, size: int) -> int:
        """Return how many bytes of an object pass."""
        with self._lock:
            if size < LARGE or self._armed is None or self._armed[0] != method:
                return size
            _, number, hang = self._armed
            self._armed = (method, number - 1, hang) if number > 1 else None
            if number > 1:
                return size
            if hang:
                self._whole.clear()
            self.broken.append((method, size // 2, size))
        self.meanwhile()
        return size // 2

    @contextmanager
    def served(self, host: str = "127.0.0.1") -> Iterator[str]:
        """Serve it until the block ends; yield its address."""
        server = ThreadingHTTPServer((host, 0), handler(self))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{host}:{server.server_port}/store"
        finally:
            self._whole.set()
            server.shutdown()
            server.server_close()


def handler(store: Store) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers a connection to `store`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(OSError, ValueError):  # the connection is lost, or closed by us
                super().handle()

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

        @property
        def file(self) -> Path:
            return store.directory / self.path.strip("/")

        def do_PUT(self) -> None:
            store.wait()
            data = self.chunks()
            if data is None:
                self.lose()
                return
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_bytes(data)
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def chunks(self) -> bytes | None:
            """Read a body, which DVC sends in chunks; None if it breaks, as soon as it is known to be large."""
            data, large = b"", False
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
                if not large and len(data) >= LARGE:
                    large = True
                    if store.part("PUT", 2 * len(data)) == len(data):
                        return None
            self.rfile.readline()
            return data

        def do_GET(self) -> None:
            self.answer(body=True)

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def answer(self, *, body: bool) -> None:
            store.wait()
            found = self.file.is_file()
            data = self.file.read_bytes() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                part = store.part("GET", len(data))
                self.wfile.write(data[:part])
                if part < len(data):
                    self.lose()

        def lose(self) -> None:
            """Reset the connection, once the link is whole."""
            store.wait()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

        def log_message(self, form: str, *values: object) -> None:
            """Say nothing."""

    return Handler
