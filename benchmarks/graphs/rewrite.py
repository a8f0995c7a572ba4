"""Replace the commands of a dvc.yaml by calls of the stub; everything else stays."""

import io
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

OUTPUTS = ("outs", "metrics", "plots")
PARAMETERS = "params.yaml"


def rewritten(content: bytes, stub: Path, spec: Path) -> bytes:
    """Return a dvc.yaml whose stages call `stub` with `spec`.

    A stage's own command becomes the call's `--note`, so that a template in it still counts: DVC puts the values in
    before the shell reads the line. Raises ruamel.yaml's errors if the content is not YAML.
    """
    yaml = YAML()
    yaml.width, yaml.preserve_quotes, yaml.allow_duplicate_keys = 1_000_000, True, True
    data = yaml.load(content.decode())
    call = shlex.join([sys.executable, "-I", "-S", str(stub), str(spec)])
    for body in _bodies(data):
        command = body["cmd"]
        lines = command if isinstance(command, list) else [line for line in str(command).splitlines() if line.strip()]
        if not str(lines[0]).startswith(call):  # an anchor's stage is met again at its alias
            # DVC runs each line alone. The last one writes the outputs, since they are the stage's, not a line's.
            calls = [*(_note(call, line) for line in lines[:-1]), _whole(call, lines[-1], body)]
            body["cmd"] = calls if isinstance(command, list) else "\n".join(calls)
    stream = io.StringIO()
    yaml.dump(data, stream)
    text = stream.getvalue()
    return (text.replace("\n", "\r\n") if b"\r\n" in content else text).encode()


def _bodies(data: Any) -> Iterator[Any]:
    stages = data.get("stages") if isinstance(data, dict) else None
    for stage in stages.values() if isinstance(stages, dict) else ():
        body = stage.get("do", stage) if isinstance(stage, dict) else None
        if isinstance(body, dict) and body.get("cmd"):
            yield body


def _note(call: str, command: object) -> str:
    return f"{call} {shlex.quote(f'--note={command}')}"


def _whole(call: str, command: object, body: Any) -> str:
    words = [_note(call, command)]
    outputs = [path for key in OUTPUTS for path in _paths(body.get(key))]
    for option, paths in (("deps", _paths(body.get("deps"))), ("outs", outputs), ("params", _files(body))):
        if found := list(dict.fromkeys(paths)):
            words += [f"--{option}", *found]
    return " ".join(words)


def _paths(listed: Any) -> Iterator[str]:
    """Yield the paths of a list, each a word of the shell; a list that is one template becomes many words."""
    if isinstance(listed, str):
        yield listed
    for entry in listed if isinstance(listed, list) else ():
        yield shlex.quote(str(next(iter(entry)) if isinstance(entry, dict) else entry))


def _files(body: Any) -> Iterator[str]:
    """Yield the files of the parameters: those named, and params.yaml for a key without a file."""
    listed = body.get("params")
    for entry in listed if isinstance(listed, list) else ():
        names: Iterable[object] = entry if isinstance(entry, dict) else [PARAMETERS]
        yield from (shlex.quote(str(name)) for name in names)
