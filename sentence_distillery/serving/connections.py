"""Connections that end if their client stalls: uvicorn's, with bounds that it does not have.

    nothing, or half a header      HEADER_SECONDS, also after a first answer
    an answer that nobody reads    ANSWER_SECONDS
    more than CONNECTIONS          the one that has waited longest for a header ends

So clients that send nothing keep no place that another one needs. What does not parse as HTTP is refused in OpenAI's
form, as every other error.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sentence_distillery.serving.answers import refused

HEADER_SECONDS = 10.0
ANSWER_SECONDS = 60.0
CONNECTIONS = 256


class Clock:
    """A call after some seconds, unless the clock is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float, call: Callable[[], None]) -> None:
        """Start; a clock that runs goes on as it is."""
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, call)

    def stop(self) -> None:
        """Stop, if it runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def deadline(self) -> float | None:
        """The loop's time of the call; None if it does not run."""
        return None if self._timer is None else self._timer.when()


class Connection(H11Protocol):
    """A connection of uvicorn with bounds."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.header, self._answer = Clock(self.loop), Clock(self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await a first header, and make room."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > CONNECTIONS:
            clocks = [(each.header.deadline, each) for each in self.connections if isinstance(each, Connection)]
            waiting = [(deadline, id(each), each) for deadline, each in clocks if deadline is not None]
            min(waiting)[-1].timeout_keep_alive_handler()  # at least this one waits

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        super().connection_lost(exc)
        self.header.stop()
        self._answer.stop()

    def data_received(self, data: bytes) -> None:
        """Read on; the clock goes on until the header is whole."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Await the next header."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Bound the time in which the client reads its answer."""
        super().pause_writing()
        self._answer.start(ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that clock: the client has read."""
        super().resume_writing()
        self._answer.stop()

    def _watch(self) -> None:
        """Start the clock if a header is awaited, or stop it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.header.stop()
        elif not self.transport.is_closing():
            self.header.start(HEADER_SECONDS, self.timeout_keep_alive_handler)

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP."""
        answer = refused(400, msg)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (start, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
