"""A link that a test can cut: it passes bytes on to a server on loopback, or nothing at all."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.sockets import free_port

HOST = "127.0.0.1"


class Relay:
    """Listens on a port of its own. While it is cut, open connections hang, as over a dead link; new ones do, too."""

    def __init__(self, host: str = HOST) -> None:
        self.host, self.port = host, free_port()
        self.passed = 0  # connections
        self._open = threading.Event()
        self._open.set()

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    @contextmanager
    def to(self, port: int) -> Iterator["Relay"]:
        """Pass connections on to `port` until the block ends."""
        with socket.create_server((self.host, self.port)) as listener:
            threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()
            try:
                yield self
            finally:
                self._open.set()
                listener.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket, port: int) -> None:
        with suppress(OSError):  # it is closed
            while True:
                near, _ = listener.accept()
                self.passed += 1
                threading.Thread(target=self._connect, args=(near, port), daemon=True).start()

    def _connect(self, near: socket.socket, port: int) -> None:
        self._open.wait()
        with near, suppress(OSError), socket.create_connection((HOST, port)) as far:
            back = threading.Thread(target=self._pass, args=(far, near), daemon=True)
            back.start()
            self._pass(near, far)
            back.join()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                self._open.wait()
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
