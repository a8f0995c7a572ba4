"""OpenAI's POST /v1/embeddings and GET /v1/models, for clients that speak it.

    {"model": "mine", "input": ["The storm.", "A gale."], "encoding_format": "base64", "dimensions": 64}

Texts are read to their end; a text without a known word has a zero vector. Lists of token numbers are refused: those of
OpenAI's tokenizers mean nothing to a student. Everything is bounded: the bytes of a request, its texts, the seconds in
which it must arrive, the requests that are encoded at a time and those that wait.
"""

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.ragged import Floats
from sentence_distillery.serving.answers import RefusedError

BODY = 8_000_000  # bytes of a request
TEXTS = 2_048  # in a request, as with OpenAI
SECONDS = 30.0  # in which a request must arrive
AT_A_TIME = 2  # requests that are encoded; each uses all cores
WAITING = 32  # requests that may wait for that
FIELDS = frozenset({"input", "model", "encoding_format", "dimensions", "user"})


@dataclass(frozen=True)
class Asked:
    """A request that is well formed."""

    texts: list[str]
    as_base64: bool
    dimensions: int | None


class Embeddings:
    """The routes of the interface for one student, whose name requests must give as `model`."""

    def __init__(self, encoder: StaticEncoder, name: str) -> None:
        self._encoder = encoder
        self._name = name
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._present = 0

    async def models(self, request: Request) -> Response:
        """GET /v1/models: the student alone."""
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        """GET /v1/models/{name}."""
        self._check_name(request.path_params["name"])
        return JSONResponse(self._model())

    def _model(self) -> dict[str, object]:
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "sentence-distillery"}

    def _check_name(self, name: object) -> None:
        if name != self._name:
            raise RefusedError(
                404, f"{name!r} is not a model of this server; it has '{self._name}'.", "model_not_found", "model"
            )

    async def create(self, request: Request) -> Response:
        """POST /v1/embeddings."""
        if self._present >= AT_A_TIME + WAITING:
            raise RefusedError(503, "Too many requests wait; try again.", "overloaded")
        self._present += 1
        try:
            asked = self._parse(await read_json(request))
            async with self._turns:
                content = await run_in_threadpool(self._answer, asked)
        finally:
            self._present -= 1
        return Response(content, media_type="application/json")

    def _parse(self, body: dict[str, Any]) -> Asked:
        self._check_name(body.get("model"))
        if unknown := sorted(body.keys() - FIELDS):
            raise RefusedError(
                400, f"'{unknown[0]}' is not a field; the fields are {', '.join(sorted(FIELDS))}.", None, unknown[0]
            )

        # The one option of form that OpenAI's own client sets: it asks for base64.
        form = body.get("encoding_format")
        if form not in (None, "float", "base64"):
            raise RefusedError(400, f"encoding_format is {form!r}; it is float or base64.", None, "encoding_format")
        dimensions, full = body.get("dimensions"), self._encoder.dimension
        if dimensions is not None and (type(dimensions) is not int or not 1 <= dimensions <= full):
            raise RefusedError(400, f"dimensions is {dimensions!r}; the model has 1 to {full}.", None, "dimensions")
        return Asked(_texts(body.get("input")), form == "base64", dimensions)

    def _answer(self, asked: Asked) -> bytes:
        """Encode and write the answer, in a thread: JSON of many numbers takes long, too."""
        vectors = self._encoder.encode(asked.texts, truncate_dim=asked.dimensions)
        tokens = len(self._encoder.known(self._encoder.token_ids(asked.texts)).ids)
        rows = [
            {"object": "embedding", "index": index, "embedding": _numbers(vector, asked.as_base64)}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return json.dumps({"object": "list", "data": rows, "model": self._name, "usage": usage}).encode()


def _numbers(vector: Floats, as_base64: bool) -> str | list[float]:
    """Return a vector as OpenAI does: little-endian float32 in base64, or a list of numbers."""
    if as_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    numbers: list[float] = np.asarray(vector).tolist()
    return numbers


def _texts(given: object) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise RefusedError(400, "input is a text, or a list of at least one text.", None, "input")
    if len(texts) > TEXTS:
        raise RefusedError(400, f"input has {len(texts):,} texts; send at most {TEXTS:,} at a time.", None, "input")

    # OpenAI also takes token numbers. Those of its tokenizer mean nothing here.
    for index, text in enumerate(texts):
        if isinstance(text, int | list):
            raise RefusedError(400, "input has token numbers, which this model cannot read; send texts.", None, "input")
        if not isinstance(text, str):
            raise RefusedError(400, f"input[{index}] is not a text but {type(text).__name__}.", None, "input")
    return list(texts)


async def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object from a request of bounded size and time; raises RefusedError for anything else."""
    # A form of another site can post text/plain without asking; application/json it cannot.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, f"The Content-Type is {kind or 'missing'!r}; send application/json.")
    try:
        async with asyncio.timeout(SECONDS):
            content = await _content(request)
    except TimeoutError:
        raise RefusedError(408, f"The request did not arrive within {SECONDS:.0f} seconds.") from None
    except ClientDisconnect:
        raise RefusedError(400, "The request ended early.") from None
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The body is not JSON.") from None

    # JSON may name half of a surrogate pair, which no answer could repeat in UTF-8.
    if not isinstance(body, dict):
        raise RefusedError(400, "The body is not a JSON object.")
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise RefusedError(400, f"The body has {half}, half of a surrogate pair; send whole characters.") from None
    return body


async def _content(request: Request) -> bytes:
    """Read the body as it comes, and no more than BODY bytes of it, even if its header declares less."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > BODY:
            raise RefusedError(413, f"The request has more than {BODY:,} bytes; send fewer texts at a time.")
    return bytes(content)
