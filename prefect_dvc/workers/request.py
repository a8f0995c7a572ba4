"""The request that the caller sends to a GPU worker, and the remotes that a worker accepts in it.

A worker runs the code that a request names. So it trusts nothing: each field must have its form, and code and data come
only from remotes that the worker's owner has listed.

    code     git remotes of the worker's clone, by name or by address                        `git remote add`
    data     DVC remotes of the worker's clone, and the cache of a listed clone on the same host   `dvc remote add`
    both     addresses in PREFECT_DVC_REMOTES, separated by commas
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from dvc.config import Config
from pydantic import ConfigDict, Field, Strict, ValidationError
from pydantic.dataclasses import dataclass

from prefect_dvc.execution.run import NotHandedOffError
from prefect_dvc.settings.resources import LABEL
from prefect_dvc.workspace.git import END, git

PROTOCOL = 5  # version of StageRequest and of the steps on both sides; raise it when either changes
REFS = "refs/prefect-dvc/handoff"
LISTED = "PREFECT_DVC_REMOTES"  # the worker's setting
NAME = r"((\w[\w.-]*/)*dvc\.yaml:)?\w[\w -]*(@[\w.+=,/ -]+)?"  # of a stage, as `dvc repro` takes it


class HandoffError(NotHandedOffError):
    """The stage could not be handed off, or its result not brought back; nothing is wrong with the stage itself."""


def seconds(name: str, default: float) -> float:
    """Return the seconds that an environment variable sets; raises HandoffError if it is not a number above 0."""
    given = os.environ.get(name, str(default))
    try:
        number = float(given)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise HandoffError(f"{name}={given!r} is not a number of seconds; {default:g} is the default.")
    return number


Whole = Annotated[int, Strict(), Field(gt=0)]
Address = Annotated[str, Strict(), Field(pattern=r"^[^\x00-\x1f]+$")]
Texts = dict[Annotated[str, Strict()], Annotated[str, Strict()]]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class StageRequest:
    """A request to a worker. It travels as the parameters of a flow run, so it holds no secrets."""

    stage: Annotated[str, Field(pattern=rf"^{NAME}$")]
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    inputs: Texts  # the parts of the key, to tell why two keys differ
    versions: Texts  # of Python and of the project's packages at the caller
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
    ref: Annotated[str, Field(pattern=rf"^{REFS}/[0-9a-f]{{32}}$")]
    code: Address  # git remote, by its name in the worker's clone or by its address, that has `ref`
    remote: Address | None  # DVC remote by its address; None: the default one of each clone
    force: Annotated[bool, Strict()]
    resources: dict[Annotated[str, Field(pattern=rf"^{LABEL.pattern}$")], Whole]  # that the stage needs
    timeout: Annotated[float, Strict(), Field(gt=0)] | None  # seconds that its command may take


def read_request(given: Mapping[str, Any]) -> StageRequest:
    """Check the form of each field of a request that came with a flow run, which anybody may have sent.

    Its remotes are not checked yet, see `code_remote` and `data_remote`. Raises HandoffError.
    """
    try:
        return StageRequest(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        told = f"{given[name]!r}: {first['msg']}" if name in given else "missing"
        raise HandoffError(
            f"The request's {name} is {told}. Is the same version of prefect-dvc installed on both sides?"
        ) from None


def code_remote(request: StageRequest, clone: Path) -> str:
    """Return the git remote of `request`, as the owner of the worker's clone has listed it; raises HandoffError."""
    return _listed(request.code, _code_remotes(clone), "code", f"git -C {clone} remote add NAME ADDRESS")


def data_remote(request: StageRequest, clone: Path) -> str | None:
    """Return the DVC remote of `request`, as the owner of the worker's clone has listed it; raises HandoffError."""
    if request.remote is None:
        return None
    remotes = Config(str(clone.absolute() / ".dvc"))["remote"]
    caches = [f"{address}/.dvc/cache" for address in _code_remotes(clone) if Path(address).is_absolute()]
    listed = [*(str(remote["url"]) for remote in remotes.values()), *caches, *_setting()]
    return _listed(request.remote, listed, "data", f"dvc --cd {clone} remote add --local NAME ADDRESS")


def _code_remotes(clone: Path) -> list[str]:
    names = git(clone, "remote").split()
    return [*names, *(git(clone, "remote", "get-url", END, name) for name in names), *_setting()]


def _setting() -> list[str]:
    return [address.strip() for address in os.environ.get(LISTED, "").split(",") if address.strip()]


def _listed(asked: str, listed: Iterable[str], what: str, remedy: str) -> str:
    """Return the entry of `listed` that is `asked`: the same text, or another path of the same directory."""
    known = list(dict.fromkeys(listed))
    for entry in known:
        absolute = Path(entry).is_absolute() and Path(asked).is_absolute()
        if entry == asked or (absolute and Path(entry).resolve() == Path(asked).resolve()):
            return entry
    raise HandoffError(
        f"The request's {what} would come from '{asked}', which is not on this worker's list; the list has "
        f"{', '.join(known) or 'nothing'}. If you trust it, list it on the worker: {remedy}, or start the worker with "
        f"{LISTED}={asked!r}."
    )
