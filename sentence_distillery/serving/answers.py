"""Refusals, in the form that OpenAI's clients read."""

from starlette.responses import JSONResponse


class RefusedError(Exception):
    """A refused request: its status, the fault, and the wrong field."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.answer = refused(status, message, code, param)


def refused(status: int, message: str, code: str | None = None, param: str | None = None) -> JSONResponse:
    """Return an error in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "1"} if status == 503 else None
    error = {"message": message, "type": kind, "param": param, "code": code}
    return JSONResponse({"error": error}, status, headers)
