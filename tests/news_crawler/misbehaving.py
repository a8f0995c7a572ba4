"""Functions for child processes in the tests of crawl/workers.py; few imports, since each child repeats them."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from news_crawler.workers import Task
from tests.waiting import FOREVER


def misbehave() -> Task:
    """Do what the page says."""
    return _misbehave


def _misbehave(request: dict[str, Any], payload: bytes) -> dict[str, Any]:
    match payload:
        case b"hang":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            if "marker" in request:
                Path(request["marker"]).touch()
            time.sleep(FOREVER)
        case b"crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case b"eat":
            bytes(2_000_000_000)
        case b"raise":
            raise RecursionError("too deep")
    return {"links": [], "article": True, "reason": None, "pid": os.getpid()}
