"""The routes of the page, of its data, and of OpenAI's interface."""

from asyncio import Lock
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import resources

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sentence_distillery.io.ragged import Floats
from sentence_distillery.serving.answers import RefusedError, refused
from sentence_distillery.serving.collection import Collection, Neighbour, Where
from sentence_distillery.serving.embeddings import Embeddings
from sentence_distillery.serving.guard import Guard
from sentence_distillery.serving.map import Map, draw
from sentence_distillery.serving.words import read_words

QUERY = 5_000  # characters of a query
SHOWN = 400  # characters of a text in a list
TITLE = 120  # characters of a text on the map
NEIGHBOURS = 20
CANDIDATES = 400  # of which the nearly equal ones are grouped
OTHERS = 50  # nearly equal texts that are listed; all are counted
VALUE = 300  # characters of a value of a column
FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}


class Page:
    """The page's routes for one collection."""

    def __init__(self, collection: Collection, name: str) -> None:
        self._collection = collection
        self._name = name
        self._map: Map | None = None  # until it is drawn, which takes seconds: texts have no place then
        self._drawing = Lock()

    async def file(self, request: Request) -> Response:
        """GET of the page, its style and its script."""
        name, kind = FILES[request.url.path]
        return Response(
            (resources.files(__package__) / "page" / name).read_bytes(), media_type=f"{kind}; charset=utf-8"
        )

    async def about(self, request: Request) -> Response:
        """GET /api/about: the student and the texts."""
        return JSONResponse(facts(self._collection, self._name))

    async def search(self, request: Request) -> Response:
        """GET /api/search?q=...: the closest texts, and how the student reads the query."""
        query = request.query_params.get("q", "")
        if not query.strip() or len(query) > QUERY:
            raise RefusedError(400, f"A query has 1 to {QUERY:,} characters, and not only blanks.", None, "q")
        where = self._where(request)
        found = await run_in_threadpool(lambda: self._groups(self._collection.search(query, CANDIDATES, where)))
        words = [asdict(word) for word in read_words(self._collection.encoder, query)]
        return JSONResponse({"words": words, "student": found})

    async def alike(self, request: Request) -> Response:
        """GET /api/alike?index=...: the texts closest to one, by the student and by the teacher."""
        index = _index(request.query_params.get("index", ""), len(self._collection.texts))
        return JSONResponse(await run_in_threadpool(self._alike, index, self._where(request)))

    def _alike(self, index: int, where: Where | None) -> dict[str, object]:
        collection = self._collection
        # None if there are only the student's vectors
        teacher = collection.alike_for_teacher(index, CANDIDATES, where)
        return {
            **self._row(index),
            "place": self._place(index),
            "student": self._groups(collection.alike(index, CANDIDATES, where)),
            "teacher": teacher and self._groups(teacher, collection.teacher),
        }

    def _where(self, request: Request) -> Where | None:
        """Return the filter of a request: its parameters column and value, or None."""
        column, value = (request.query_params.get(name, "") for name in ("column", "value"))
        if not column:
            return None
        if column not in self._collection.columns:
            known = ", ".join(self._collection.columns) or "none"
            raise RefusedError(
                400, f"The texts have no column '{cut(column, SHOWN)}' (they have {known}).", None, "column"
            )
        return Where(column, value)

    async def map(self, request: Request) -> Response:
        """GET /api/map: points of texts in two dimensions, when it is drawn."""
        async with self._drawing:  # a second page waits for the map of the first
            if self._map is None:
                self._map = await run_in_threadpool(draw, self._collection.vectors)
        points = [
            {"index": index, "place": self._place(index), "text": cut(self._collection.texts[index], TITLE)}
            for index in self._map.drawn.tolist()
        ]
        # Computed once a map; it takes longer than the others should wait
        kept = await run_in_threadpool(lambda found: found.kept, self._map)
        return JSONResponse({"points": points, "method": self._map.method, "kept": kept})

    def _place(self, index: int) -> list[float] | None:
        """Return the place of a text on the map; None if it has none, or none yet."""
        return None if self._map is None else self._map.place(index)

    def _groups(self, neighbours: Sequence[Neighbour], vectors: Floats | None = None) -> list[dict[str, object]]:
        """Return the first of each group, with the others of the group below it."""
        groups = self._collection.groups(neighbours, NEIGHBOURS, vectors)
        return [
            {
                **self._hit(group.first),
                "place": self._place(group.first.index),
                "others": [self._hit(neighbour) for neighbour in group.others[:OTHERS]],
                "count": len(group.others),
            }
            for group in groups
        ]

    def _hit(self, neighbour: Neighbour) -> dict[str, object]:
        return {**self._row(neighbour.index), "score": round(neighbour.score, 4)}

    def _row(self, index: int) -> dict[str, object]:
        """Return a text with the values of its other columns."""
        values = {name: cut(column[index], VALUE) for name, column in self._collection.columns.items() if column[index]}
        return {"index": index, "text": cut(self._collection.texts[index], SHOWN), "columns": values}


def facts(collection: Collection, name: str) -> dict[str, object]:
    """Return what the page says of the student and the texts."""
    return {
        "name": name,
        "dimension": collection.encoder.dimension,
        "tokens": len(collection.encoder.stored),
        "texts": len(collection.texts),
        "left_out": collection.left_out,
        "teacher": collection.teacher is not None,
        "columns": collection.choices,
        "examples": [text[:QUERY] for text in collection.examples],
    }


def cut(text: str, length: int) -> str:
    """Shorten a text for a list; an ellipsis says so."""
    return text if len(text) <= length else text[:length] + "…"


def _index(given: str, count: int) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 12 and int(given) < count):
        raise RefusedError(400, f"index is a number from 0 to {count - 1:,}.", None, "index")
    return int(given)


def application(collection: Collection, name: str, hosts: Iterable[str], key: str | None = None) -> ASGIApp:
    """Make the guarded application that serves a student and its texts; `hosts` and `key` are those of `Guard`.

    `name` is the student's in OpenAI's interface and on the page.
    """
    page, embeddings = Page(collection, name), Embeddings(collection.encoder, name)
    routes = [
        *(Route(path, page.file) for path in FILES),
        Route("/api/about", page.about),
        Route("/api/search", page.search),
        Route("/api/alike", page.alike),
        Route("/api/map", page.map),
        Route("/v1/models", embeddings.models),
        Route("/v1/models/{name}", embeddings.model),
        Route("/v1/embeddings", embeddings.create, methods=["POST"]),
    ]

    # Errors are OpenAI's JSON on every path, since a client of that interface reads no other.
    handlers = {RefusedError: _refuse, HTTPException: _http, Exception: _fault}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), hosts, key)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return error.answer


async def _http(request: Request, error: Exception) -> Response:
    """Answer a path or a method that there is not."""
    assert isinstance(error, HTTPException)
    return refused(error.status_code, error.detail)


async def _fault(request: Request, error: Exception) -> Response:
    """Answer a fault of the server, which logs it."""
    return refused(500, "The server has a fault, which its log shows.")
