"""Replace the commands of a dvc.yaml by calls of the stub; everything else stays.

Nothing of a project may run. What DVC makes of the calls is checked again by `check_commands`, since a value that DVC
puts in may end the quotes around it.
"""

import io
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from measurements.graphs.children import ProjectError
from measurements.graphs.graph import DeclaredStage

OUTPUTS = ("outs", "metrics", "plots")
PARAMETERS = "params.yaml"
# Words of a shell: in single quotes anything, in double quotes nothing that is replaced, else letters and a few signs.
PLAIN = re.compile(r"""(?:[\w@%+=:,./ -]|'[^']*'|"[^"$`\\!]*")*""")


def rewritten(content: bytes, stub: Path, spec: Path) -> bytes:
    """Return a dvc.yaml whose stages call `stub` with `spec`; raises ruamel.yaml's errors if DVC cannot read it either.

    A stage's own command becomes the call's `--note`, so that a template in it still counts.
    """
    yaml, data = _read(content.decode())
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


def _read(text: str) -> tuple[YAML, Any]:
    """Read YAML with its comments and quotes; if only DVC's own reader takes it, without them."""
    yaml = YAML()
    yaml.width, yaml.preserve_quotes, yaml.allow_duplicate_keys = 1_000_000, True, True
    try:
        return yaml, yaml.load(text)
    except YAMLError:
        yaml = YAML(typ="safe")
        yaml.width = 1_000_000
        return yaml, yaml.load(text)


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


def check_commands(stages: Iterable[DeclaredStage], stub: Path) -> None:
    """Raise ProjectError unless each line of each command, as DVC has resolved it, is a call of the stub alone."""
    call = shlex.join([sys.executable, "-I", "-S", str(stub)])
    for stage in stages:
        for line in stage.lines:
            if not line.startswith(f"{call} ") or not is_one_command(line):
                raise ProjectError(f"{stage.name} would run more than the stub: {line.removeprefix(call)[:200]}")


def is_one_command(line: str) -> bool:
    """Tell whether a shell takes a line for one command whose words stand in it as they are.

    >>> is_one_command("python stub.py 'a; b' --outs x"), is_one_command("python stub.py 'a'; b")
    (True, False)
    >>> is_one_command("python stub.py 'it's'"), is_one_command('python stub.py "$(b)"')
    (False, False)
    """
    return PLAIN.fullmatch(line) is not None
