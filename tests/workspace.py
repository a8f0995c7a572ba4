"""The working directory of stages: params.yaml of the demo profile, with the changes of a test."""

import shutil
import subprocess
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from stages.params import Params, completed

ROOT = Path(__file__).parents[1]


def demo_params(**changes: Any) -> dict[str, Any]:
    """The demo profile, with every key; a change to a section replaces the keys that it names, any other, the value.

    A section that is the name of an encoder is that encoder.
    """
    params: dict[str, Any] = {name: {} for name, field in Params.model_fields.items() if field.is_required()}
    base, demo = (ROOT / "conf/base.yaml", ROOT / "conf/profile/demo.yaml")
    for layer in (*map(deepcopy, (_read(base), _read(demo))), changes):
        for name, value in layer.items():
            known = params.get(name, {})
            known = params["encoders"][known] if isinstance(known, str) and isinstance(value, dict) else known
            params[name] = known | value if isinstance(value, dict) else value
    return completed(params)


def write_params(path: Path = Path("params.yaml"), **changes: Any) -> None:
    path.write_text(yaml.safe_dump(demo_params(**changes), sort_keys=False), encoding="utf-8")


def copy_files(target: Path, *places: str) -> None:
    """Copy the files that git would commit, all or those at some places."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *places]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def worker_processes(pid: int) -> list[int]:
    """List the processes that map over shards for the process `pid`, ours or those of a Dask nanny."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread or the child has ended meanwhile
            for child in thread.read_text().split():
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                if b"loky.backend.popen_loky" in command or b"spawn_main" in command:
                    found.append(int(child))
    return found


@cache  # hundreds of tests write these two files, and PyYAML takes 10 ms to read one
def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content
