"""Access control: programs on this machine that name it, the server's own page, and holders of the key.

A web page that somebody has open can make the browser send requests to this machine. It cannot read an answer, since
none has a header of CORS. It is refused anyway:

    Host            another name than this machine's, to which a page's own name may be pointed (DNS rebinding)
    Origin          a request from another page's script
    Sec-Fetch-Site  any other request that another page causes, such as an image's; a link to the page itself is fine
    Content-Type    POST takes application/json alone, which a form cannot send

No more than REQUESTS are answered at a time. The server listens at 127.0.0.1 only. Other users of the machine can reach
it, so a key can be asked for.
"""

import hashlib
import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sentence_distillery.serving.answers import refused

SAFE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
REQUESTS = 64  # that are answered at a time
WITHOUT_KEY = ("/", "/page.css", "/page.js")  # the page itself, which has no data


class Guard:
    """Refuse requests before they reach a route.

    `hosts` is what a Host header may say, such as "127.0.0.1:8000"; `key` None asks for none.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], key: str | None) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._key = None if key is None else _digest(key)
        self._present = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, by a refusal or by the routes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._present += 1
        try:
            await self._answer(scope)(scope, receive, _with_safe_headers(send))
        finally:
            self._present -= 1

    def _answer(self, scope: Scope) -> ASGIApp:
        """Choose who answers: a refusal, or the routes."""
        headers = Headers(scope=scope)
        reason = self._foreign(scope, headers)
        if reason is not None:
            return refused(403, reason, "forbidden")
        if not self._has_key(scope, headers):
            return refused(401, "A key is needed: Authorization: Bearer <key>.", "invalid_api_key")
        if self._present > REQUESTS:
            return refused(503, "Too many requests are answered; try again.", "overloaded")
        return self._app

    def _foreign(self, scope: Scope, headers: Headers) -> str | None:
        """Tell why a request is not from this machine's programs or the server's own page, or None."""
        hosts = {host.lower() for host in headers.getlist("host")}  # names have no case
        if not hosts or not hosts <= self._hosts:
            return f"The Host header is not one of {', '.join(sorted(self._hosts))}."

        # A page of another site may send a request here, but its browser says where the page is from.
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return "Requests from other pages are refused."

        # A link from elsewhere may open the page itself, and nothing else.
        site = headers.get("sec-fetch-site", "none")
        is_link = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
        if site not in ("none", "same-origin") and not is_link:
            return "Requests that other pages start are refused."
        return None

    def _has_key(self, scope: Scope, headers: Headers) -> bool:
        if self._key is None or scope["path"] in WITHOUT_KEY:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(_digest(given.strip()), self._key)


def _digest(key: str) -> bytes:
    """Hash a key, so that a comparison takes as long for every length."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _with_safe_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(SAFE_HEADERS)
        await send(message)

    return sending
