"""Who may ask: what another web page, another name or another machine might send is refused."""

import httpx
import pytest

from sentence_distillery.serving.guard import SAFE_HEADERS
from tests.sockets import LOOPBACK, peers

from .conftest import Server

PLACES = ("/", "/page.js", "/api/about", "/api/search?q=storm", "/api/map", "/v1/models")
BODY = b'{"model": "released", "input": "a"}'


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert peers(server.process.pid) <= LOOPBACK


@pytest.mark.parametrize("place", PLACES)
def test_another_name_for_this_machine(server: Server, place: str) -> None:
    """DNS rebinding: a page's own name that leads here; without the port, or none at all."""
    port = server.host.partition(":")[2]
    for name in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}", "localhost:1", ""):
        answer = httpx.get(server.address + place, headers={"Host": name})
        assert answer.status_code in (400, 403)
        assert "storm" not in answer.text
    assert httpx.get(server.address + place, headers={"Host": f"localhost:{port}"}).status_code == 200


@pytest.mark.parametrize("place", PLACES)
def test_requests_that_another_page_causes(server: Server, place: str) -> None:
    """By a script, an image or a frame; only a link to the page itself may lead here."""
    foreign: list[dict[str, str]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost.evil.example:{server.host.partition(':')[2]}"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ]
    for headers in foreign:
        answer = httpx.get(server.address + place, headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert httpx.get(server.address + place, headers=link).status_code == (200 if place == "/" else 403)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_is_no_request(server: Server, kind: str) -> None:
    """These kinds need no leave of the server, and so no page may use them."""
    headers = {"Content-Type": kind} if kind else {}
    answer = httpx.post(f"{server.address}/v1/embeddings", content=BODY, headers=headers)
    assert answer.status_code == 415


def test_no_leave_for_other_pages(server: Server) -> None:
    """A browser asks first with OPTIONS; the answer has no header that would allow anything."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for headers in (asked, {}):
        answer = httpx.options(f"{server.address}/v1/embeddings", headers=headers)
        assert answer.status_code in (403, 405)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_answer_has_the_safe_headers(server: Server) -> None:
    for place in (*PLACES, "/nowhere"):
        answer = httpx.get(server.address + place)
        for name, value in SAFE_HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "place",
    [
        "/api/search",
        "/api/search?q=%20",
        "/api/search?q=storm&column=absent&value=1",
        f"/api/search?q={'a' * 5_001}",
        *(f"/api/alike?index={i}" for i in ("", "-1", "6", "²", "1e9", "9" * 30)),
    ],
)
def test_questions_out_of_their_range(server: Server, place: str) -> None:
    answer = httpx.get(server.address + place)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] in ("q", "index", "column")
    assert "column" not in place or "column 'absent' (they have none)" in answer.json()["error"]["message"]
