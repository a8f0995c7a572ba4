"""The request that the caller sends to a GPU worker, and the remotes that a worker accepts in it.

A request travels as the parameters of a flow run, and a worker runs the code that it names. So a worker trusts
nothing: each field must have its form, and code and data come only from remotes that the worker's owner has listed.

    code     git remotes of the worker's clone, by name or by address                        `git remote add`
    data     DVC remotes of the worker's clone, and the cache of a listed clone on the same host   `dvc remote add`
    both     addresses in PREFECT_DVC_REMOTES, separated by commas
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvc.config import Config

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


@dataclass(frozen=True)
class StageRequest:
    """A request to a worker. It travels as the parameters of a flow run, so it holds no secrets."""

    stage: str
    key: str
    inputs: dict[str, str]  # the parts of the key, to tell why two keys differ
    versions: dict[str, str]  # of Python and of the project's packages at the caller
    revision: str
    ref: str
    code: str  # git remote, by its name in the worker's clone or by its address, that has `ref`
    remote: str | None  # DVC remote by its address; None: the default one of each clone
    force: bool
    resources: dict[str, int]  # that the stage needs
    timeout: float | None  # seconds that its command may take


def _text(form: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(form, value) is not None


def _is_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair)


def _is_amounts(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and LABEL.fullmatch(name) and type(amount) is int and amount > 0
        for name, amount in value.items()
    )


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


ADDRESS = _text(r"[^\x00-\x1f]+")
FORMS: Mapping[str, tuple[Callable[[object], bool], str]] = {  # of each field of a request: the check, and its words
    "stage": (_text(NAME), "the name of a stage, such as student, seeds@1 or models/dvc.yaml:student"),
    "key": (_text(r"[0-9a-f]{64}"), "64 hexadecimal digits"),
    "inputs": (_is_texts, "hashes by the names of inputs"),
    "versions": (_is_texts, "versions by the names of packages"),
    "revision": (_text(r"[0-9a-f]{40}([0-9a-f]{24})?"), "the full hash of a commit"),
    "ref": (_text(rf"{REFS}/[0-9a-f]{{32}}"), f"{REFS}/ with 32 hexadecimal digits"),
    "code": (ADDRESS, "the name or the address of a git remote"),
    "remote": (lambda value: value is None or ADDRESS(value), "the address of a DVC remote"),
    "force": (lambda value: isinstance(value, bool), "true or false"),
    "resources": (_is_amounts, "whole numbers by name"),
    "timeout": (lambda value: value is None or _is_seconds(value), "a number of seconds"),
}


def read_request(given: Mapping[str, Any]) -> StageRequest:
    """Check the form of each field of a request that came with a flow run, which anybody may have sent.

    Its remotes are not checked yet, see `code_remote` and `data_remote`. Raises HandoffError.

    Example:
        >>> read_request({"stage": "student"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        prefect_dvc.workers.request.HandoffError: The request lacks code, force, inputs, key, ref, remote, ...
    """
    for word, different in (("lacks", set(FORMS) - set(given)), ("has the unknown", set(given) - set(FORMS))):
        if different:
            raise HandoffError(
                f"The request {word} {', '.join(sorted(different))}; install the same version of prefect-dvc on "
                "both sides."
            )
    for name, (fits, form) in FORMS.items():
        if not fits(given[name]):
            raise HandoffError(f"The request's {name} is {given[name]!r}; it must be {form}.")
    return StageRequest(**given)


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
        if entry == asked or (Path(entry).is_absolute() and _same_directory(entry, asked)):
            return entry
    raise HandoffError(
        f"The request's {what} would come from '{asked}', which is not on this worker's list; the list has "
        f"{', '.join(known) or 'nothing'}. If you trust it, list it on the worker: {remedy}, or start the worker with "
        f"{LISTED}={asked!r}."
    )


def _same_directory(listed: str, asked: str) -> bool:
    return Path(asked).is_absolute() and Path(listed).resolve() == Path(asked).resolve()
