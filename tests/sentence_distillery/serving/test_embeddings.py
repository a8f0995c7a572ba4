"""OpenAI's interface, asked by OpenAI's own client, and by requests that break its rules."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import openai
import pytest

from sentence_distillery import load
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.serving import embeddings
from sentence_distillery.serving.server import checked_key
from tests.waiting import wait_until

from .conftest import SECRET, TEXTS, Server

URL = "/v1/embeddings"


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key="not needed", max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address, timeout=60) as made:
        yield made


def test_a_list_and_a_text(client: openai.OpenAI) -> None:
    """The client asks for base64 by itself and decodes it; floats are the same numbers."""
    encoder = load()
    many = client.embeddings.create(model="released", input=TEXTS)
    assert [row.index for row in many.data] == list(range(len(TEXTS)))
    np.testing.assert_array_equal(np.array([row.embedding for row in many.data], np.float32), encoder.encode(TEXTS))
    tokens = len(encoder.token_ids(TEXTS).without(UNKNOWN_ID).ids)
    assert (many.usage.prompt_tokens, many.usage.total_tokens, many.model) == (tokens, tokens, "released")
    one = client.embeddings.create(model="released", input=TEXTS[0], encoding_format="float")
    np.testing.assert_array_equal(np.array(one.data[0].embedding, np.float32), encoder.encode(TEXTS[0]))


def test_fewer_dimensions_and_no_known_word(client: openai.OpenAI) -> None:
    found = client.embeddings.create(model="released", input=["the storm", "?!", ""], dimensions=32)
    vectors = np.array([row.embedding for row in found.data], np.float32)
    np.testing.assert_array_equal(vectors, load(truncate_dim=32).encode(["the storm", "?!", ""]))


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["released"]
    assert client.models.retrieve("released").owned_by == "sentence-distillery"
    with pytest.raises(openai.NotFoundError, match="'gpt' is not a model of this server; it has 'released'"):
        client.models.retrieve("gpt")


def test_what_the_client_gets_for_mistakes(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="'text-embedding-3-small' is not a model"):
        client.embeddings.create(model="text-embedding-3-small", input="a")
    for numbers in ([1, 2, 3], [[1, 2], [3]]):
        with pytest.raises(openai.BadRequestError, match="input has token numbers, which this model cannot read"):
            client.embeddings.create(model="released", input=numbers)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"input": []}, "input is a text, or a list of at least one text"),
        ({}, "input is a text"),
        ({"input": {"a": 1}}, "input is a text"),
        ({"input": ["a", None]}, "input[1] is not a text but NoneType"),
        ({"input": ["a", True]}, "input has token numbers"),
        ({"input": ["a"] * 2_049}, "input has 2,049 texts; send at most 2,048"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format is 'hex'; it is float or base64"),
        ({"input": "a", "dimensions": 257}, "dimensions is 257; the model has 1 to 256"),
        ({"input": "a", "dimensions": 0}, "dimensions is 0"),
        ({"input": "a", "dimensions": True}, "dimensions is True"),
        ({"input": "a", "dimensions": "8"}, "dimensions is '8'"),
        ({"input": "a", "speed": 1}, "'speed' is not a field"),
    ],
)
def test_bad_fields(http: httpx.Client, body: dict[str, object], message: str) -> None:
    answer = http.post(URL, json={"model": "released", **body})
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"model": NaN', b"[" * 200_000])
def test_bodies_that_are_no_object(http: httpx.Client, content: bytes) -> None:
    answer = http.post(URL, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]["message"]


def test_a_surrogate_pair_is_a_character(http: httpx.Client) -> None:
    content = b'{"model": "released", "input": ["the storm \\ud83c\\udf29"]}'
    answer = http.post(URL, content=content, headers={"Content-Type": "application/json"})
    expected = load().encode("the storm \U0001f329")
    np.testing.assert_allclose(answer.json()["data"][0]["embedding"], expected, atol=1e-6)


def test_a_request_that_is_too_large(http: httpx.Client) -> None:
    """Refused while it arrives, whether it says its size or comes in pieces; a large one below the limit is fine."""
    headers = {"Content-Type": "application/json"}
    large = b'{"model": "released", "input": "' + b"storm " * (embeddings.BODY // 6 - 100) + b'"}'
    assert http.post(URL, content=large, headers=headers).status_code == 200
    assert http.post(URL, content=large + b" " * embeddings.BODY, headers=headers).status_code == 413
    pieces = (b"[" * 100_000 for _ in range(embeddings.BODY // 100_000 + 2))
    assert http.post(URL, content=pieces, headers=headers).status_code == 413


def test_methods_and_paths_that_there_are_not(http: httpx.Client) -> None:
    assert http.get(URL).status_code == 405
    assert http.post("/v1/chat/completions", json={}).status_code == 404
    for answer in (http.get("/docs"), http.get("/page.js/../../x"), http.get("/page/page.html")):
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "Not Found"


def test_many_clients_at_a_time(http: httpx.Client) -> None:
    """Each gets its own vectors; none waits for ever behind one that sends its request slowly."""
    texts = [f"storm {number} in the port of {number}" for number in range(24)]
    slow = socket.create_connection((http.base_url.host, int(http.base_url.port or 0)))
    with slow, ThreadPoolExecutor(12) as pool:
        head = f"POST {URL} HTTP/1.1\r\nHost: {http.base_url.netloc.decode()}\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        bodies = [{"model": "released", "input": [text] * 50} for text in texts]
        answers = list(pool.map(lambda body: http.post(URL, json=body).json()["data"][-1]["embedding"], bodies))
    np.testing.assert_array_equal(np.array(answers, np.float32), load().encode(texts))


def test_more_requests_than_may_wait(server: Server, http: httpx.Client) -> None:
    """Requests that never end take all places: the next one is told to come back, and later all is well again."""
    host, _, port = server.host.partition(":")
    head = f"POST {URL} HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    body = {"model": "released", "input": "a"}
    hanging: list[socket.socket] = []

    def refused() -> bool:
        """Add a request that hangs, since one that comes while ours is answered may itself be refused."""
        hanging.append(socket.create_connection((host, int(port))))
        hanging[-1].sendall(head.encode())
        answer = http.post(URL, json=body)
        return answer.status_code == 503 and "Too many requests wait" in answer.text

    wait_until(refused, "all places are taken")
    assert len(hanging) >= embeddings.AT_A_TIME + embeddings.WAITING
    assert http.get("/v1/models").status_code == 200
    for connection in hanging:
        connection.close()
    wait_until(lambda: http.post(URL, json=body).status_code == 200, "a place is free", pause=0.2)


def test_with_a_key(locked: Server) -> None:
    with openai.OpenAI(base_url=f"{locked.address}/v1", api_key=SECRET, max_retries=0) as client:
        assert len(client.embeddings.create(model="released", input="a storm").data[0].embedding) == 256
    for wrong in ("wrong", SECRET[:-1], SECRET + "x"):
        client = openai.OpenAI(base_url=f"{locked.address}/v1", api_key=wrong, max_retries=0)
        with client, pytest.raises(openai.AuthenticationError, match="A key is needed"):
            client.models.list()
    assert httpx.get(f"{locked.address}/api/about").status_code == 401
    assert httpx.get(f"{locked.address}/v1/models", headers={"Authorization": f"Basic {SECRET}"}).status_code == 401
    assert httpx.get(f"{locked.address}/api/about", headers={b"Authorization": b"Bearer \xff\xfe"}).status_code == 401
    assert httpx.get(locked.address).status_code == 200  # the page has no data


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTENCE_DISTILLERY_KEY", raising=False)
    assert checked_key(None) is None
    monkeypatch.setenv("SENTENCE_DISTILLERY_KEY", SECRET)
    assert checked_key(None) == SECRET
    assert checked_key("another-key") == "another-key"
    for weak in ("", "short", "with a blank", "ümlaute-sind-keine"):
        with pytest.raises(InputError, match=r"The key has \d+ characters; give at least 8"):
            checked_key(weak)
