"""Clients that stall keep no place that another one needs, and every error has OpenAI's form."""

import json
import socket
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from sentence_distillery.serving import connections
from tests.waiting import LIMIT

from .conftest import Server

URL = "/v1/embeddings"
BODY = {"model": "released", "input": "a storm"}
HALF = b"GET /api/about HTTP/1.1\r\nHost: "


def connected(server: Server) -> socket.socket:
    host, _, port = server.host.partition(":")
    return socket.create_connection((host, int(port)), timeout=LIMIT)


def asked(server: Server) -> httpx.Response:
    return httpx.post(server.address + URL, json=BODY)


def test_silent_clients_do_not_block(server: Server) -> None:
    """More of them than there are places, silent or with half a header: others are answered at once."""
    for sent in (b"", HALF):
        with ExitStack() as stack:
            for _ in range(connections.CONNECTIONS + 50):
                stack.enter_context(connected(server)).sendall(sent)
            assert asked(server).status_code == 200
    assert asked(server).status_code == 200


def test_silent_clients_are_cut_off(server: Server) -> None:
    """One that sends nothing, one with half a header, and one with half a second header."""
    whole = HALF + server.host.encode() + b"\r\n\r\n"
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(server)) for _ in range(3)]
        for client, sent in zip(clients, (b"", HALF, whole + HALF), strict=True):
            client.sendall(sent)
        for client in clients:
            while client.recv(65_536):
                pass


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n"]
)
def test_what_is_not_http(server: Server, sent: bytes) -> None:
    with connected(server) as client:
        client.sendall(sent)
        answer = b""
        while part := client.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"application/json" in head
    assert json.loads(body)["error"]["type"] == "invalid_request_error"


def test_null_where_the_interface_allows_it(server: Server) -> None:
    nulls = {"encoding_format": None, "dimensions": None, "user": None}
    answer = httpx.post(server.address + URL, json=BODY | nulls)
    assert answer.status_code == 200
    assert answer.json()["data"] == asked(server).json()["data"]


@pytest.mark.parametrize(
    "body",
    [
        BODY | {"input": "the storm \ud83c"},
        BODY | {"input": ["a", "\udf29\ud83c"]},
        BODY | {"\ud800": 1},
        BODY | {"encoding_format": "\udfff"},
        BODY | {"model": "\ud800"},
        BODY | {"dimensions": "\ud800"},
        {"\ud800": {}},
    ],
)
def test_lone_surrogates_are_refused(server: Server, body: dict[str, object]) -> None:
    """In a text, a key or a value."""
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(server.address + URL, content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert "half of a surrogate pair" in error["message"]


def test_a_host_has_no_case(server: Server) -> None:
    port = server.host.partition(":")[2]
    headers = {"Host": f"LocalHost:{port}", "Origin": f"HTTP://LOCALHOST:{port}"}
    assert httpx.get(f"{server.address}/api/about", headers=headers).status_code == 200


def test_a_fault_of_the_server_is_told_in_its_form(text_file: Path) -> None:
    """By a student whose encode fails."""
    import asyncio

    from sentence_distillery import load
    from sentence_distillery.serving.app import application
    from sentence_distillery.serving.collection import Collection

    class Broken(Collection):
        def search(self, query: str, count: int) -> list[object]:  # type: ignore[override]
            raise RuntimeError("broken")

    encoder = load()
    app = application(Broken(encoder, ["a"], encoder.encode(["a"])), "x", ["test"])

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/api/search?q=storm")

    answer = asyncio.run(ask())
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
