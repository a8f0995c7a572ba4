"""Bring a kept run back to the workspace: `python -m flows.worktree NAME`."""

import argparse
import sys
from pathlib import Path

from flows.workspace.apply import apply_run
from flows.workspace.directory import REFS
from flows.workspace.git import WorkspaceError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m flows.worktree", description="Bring a run back to the workspace.")
    parser.add_argument("name", help=f"name of a kept run: `git for-each-ref {REFS}` lists them")
    try:
        apply_run(Path.cwd(), parser.parse_args().name)
    except WorkspaceError as error:
        sys.exit(f"worktree: {error}")


if __name__ == "__main__":
    main()
