"""Connections that end if their client stalls: uvicorn's, with bounds that it does not have.

    nothing, or half a header      HEADER_SECONDS, also after a first answer
    an answer that nobody reads    ANSWER_SECONDS
    more than CONNECTIONS          the one that has waited longest for a header ends

So clients that send nothing keep no place that another one needs. What does not parse as HTTP is refused in OpenAI's
form, as every other error.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sentence_distillery.serving.answers import refused

HEADER_SECONDS = 10.0
ANSWER_SECONDS = 60.0
CONNECTIONS = 256


class Connection(H11Protocol):
    """A connection of uvicorn with bounds."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._header: asyncio.TimerHandle | None = None  # runs while a header is awaited
        self._answer: asyncio.TimerHandle | None = None  # runs while nobody reads

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await a first header, and make room."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, Connection) and each._header]
            min(waiting, key=lambda each: each._deadline, default=self).timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        super().connection_lost(exc)
        self._header = _stopped(self._header)
        self._answer = _stopped(self._answer)

    def data_received(self, data: bytes) -> None:
        """Read on; the clock goes on until the header is whole."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Await the next header."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Bound the time in which the client reads what is written."""
        super().pause_writing()
        self._answer = self._answer or self.loop.call_later(ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that clock: the client has read."""
        super().resume_writing()
        self._answer = _stopped(self._answer)

    def _watch(self) -> None:
        """Start the clock if a header is awaited, or stop it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._header = _stopped(self._header)
        elif not self.transport.is_closing():
            self._header = self._header or self.loop.call_later(HEADER_SECONDS, self.timeout_keep_alive_handler)

    @property
    def _deadline(self) -> float:
        return self._header.when() if self._header else float("inf")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        answer = refused(400, msg)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _stopped(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()
