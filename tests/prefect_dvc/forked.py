"""DVC and prefect-dvc in forked children of the tests: as commands, but nothing has to be imported again."""

import logging
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import dvc.cli
from networkx.classes.coreviews import FilterAtlas

from prefect_dvc.cli import main


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str


def dvc_command(root: Path, *words: str, **environment: str) -> Done:
    """Run DVC, but that it takes stages in the graph's order.

    By itself it takes a target's stages, if they are less than half of the graph, in the order of a set, so another
    process writes dvc.lock in another order.
    """

    def act() -> Any:
        FilterAtlas.__iter__ = lambda self: (node for node in self._atlas if self.NODE_OK(node))
        return dvc.cli.main(list(words))

    return _in_child(root, act, environment)


def prefect_dvc(root: Path, *words: str, **environment: str) -> Done:
    def act() -> None:
        sys.argv = ["prefect-dvc", *words]
        main()

    return _in_child(root, act, environment)


def cli(root: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`prefect-dvc` with these words, as that of conftest.py."""
    return _completed(prefect_dvc(root, *words, **environment))


def pipeline(root: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`prefect-dvc run` without a server, as that of conftest.py."""
    return cli(root, "run", *options, **environment)


def dvc_(*words: str, cwd: Path) -> str:
    """Run DVC, as that of conftest.py; return what it prints."""
    done = _completed(dvc_command(cwd, *words))
    done.check_returncode()
    return done.stdout


def _completed(done: Done) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], done.status, done.out, done.err)


def import_all(root: Path) -> None:
    """Import what DVC and prefect-dvc import to bring the repository `root` up to date."""
    names = re.compile(r"[\w.]+")

    def act() -> None:
        sys.argv = ["prefect-dvc", "run", "--apply"]
        main()
        dvc.cli.main(["repro"])
        print(*sys.modules, sep="\n")

    done = _in_child(root, act, {})
    assert done.status == 0, done.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in filter(names.fullmatch, done.out.splitlines()):
            with suppress(ImportError, ValueError):
                import_module(name)


def _in_child(root: Path, act: Callable[[], Any], environment: dict[str, str]) -> Done:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        if not (child := os.fork()):
            status = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
                for handler in logging.getLogger("dvc").handlers:  # those of dvc_data and dvc_objects, too
                    if isinstance(handler, logging.StreamHandler):
                        handler.setStream(sys.stdout if handler.level < logging.WARNING else sys.stderr)
                os.chdir(root)
                os.environ.update(environment)
                warnings.simplefilter("ignore")
                status = _status(act)
            finally:
                with suppress(OSError):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return Done(status, out.read(), err.read())


def _status(act: Callable[[], Any]) -> int:
    """Do this, and return the status with which Python would end."""
    try:
        return int(act() or 0)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
