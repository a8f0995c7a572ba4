"""The types of ASGI and a short answer, for the server's own parts."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


async def answer(send: Send, status: int, kind: str, text: str, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole response that nobody may keep or show in a frame."""
    fields = [
        (b"content-type", kind.encode()),
        (b"cache-control", b"no-store"),
        (b"x-frame-options", b"DENY"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": text.encode()})
