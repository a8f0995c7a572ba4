"""Models of a hub: downloaded into the cache of huggingface_hub, and uploaded.

HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE and the login of `hf auth login` hold, since huggingface_hub does all of it. That
package comes with `tokenizers`.
"""

import re
from pathlib import Path
from typing import Final

from sentence_distillery.io.errors import InputError

SECONDS: Final = 10.0  # in which a hub has to answer
_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_WANTED: Final = ["*.json", "README.md", "model.safetensors", "*/model.safetensors"]


def is_hub_id(name: str) -> bool:
    """Tell whether a name looks like the id of a model on a hub: two parts, and no path."""
    return _ID.fullmatch(name) is not None and not name.startswith(".")


def download(name: str, revision: str | None, token: str | bool | None) -> Path:
    """Return the directory of a model in the cache, downloaded if the hub can be reached.

    Raises InputError if it is neither on the hub nor in the cache, which the message names.
    """
    from huggingface_hub import HfApi, constants, snapshot_download

    # The hub is asked first, so that a branch means its newest commit; without a network the cache answers.
    commit = revision or constants.DEFAULT_REVISION
    problem: Exception | None = None
    for offline in (False, True):
        try:
            if not offline:  # snapshot_download asks the same without a limit of time
                HfApi(endpoint=constants.ENDPOINT).model_info(name, revision=commit, timeout=SECONDS, token=token)
            return Path(
                snapshot_download(
                    name,
                    revision=commit,
                    token=token,
                    allow_patterns=_WANTED,
                    etag_timeout=SECONDS,
                    local_files_only=offline,
                )
            )
        except Exception as error:  # huggingface_hub raises errors of many libraries; each means that it is not there
            problem = problem or error
    at = "" if revision is None else f" at {revision}"
    raise InputError(
        f"'{name}' is not a directory on this machine, and the hub {constants.ENDPOINT} does not give it{at} "
        f"({_reason(problem)}), nor is it in the cache {constants.HF_HUB_CACHE}. Check name and revision, connect to "
        'the hub, or give the path of a directory; load("released") loads the model of this library.'
    ) from problem


def upload(
    directory: Path,
    name: str,
    *,
    private: bool | None,
    token: str | bool | None,
    revision: str | None,
    commit_message: str | None,
    create_pr: bool,
) -> str:
    """Upload the directory of a model as one commit, and return its address; `StaticEncoder.push_to_hub` says more.

    Raises InputError if the hub refuses it, or cannot be reached.
    """
    from huggingface_hub import HfApi, constants

    # A repository that exists keeps its settings and its other files.
    api = HfApi(endpoint=constants.ENDPOINT, token=token)
    try:
        api.create_repo(name, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=directory,
            revision=revision,
            commit_message=commit_message or "Upload a model of sentence-distillery",
            create_pr=create_pr,
        )
    except Exception as error:  # as above
        raise InputError(
            f"'{name}' is not uploaded: {constants.ENDPOINT} says {_reason(error)}. Check the name, and that you may "
            "write there: `hf auth login`, or give a token."
        ) from error
    return str(commit.commit_url)


def _reason(error: Exception | None) -> str:
    """Return an error in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0].rstrip('.')}"
