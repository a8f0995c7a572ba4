"""Bring a kept run back to the workspace: `prefect-dvc apply NAME`."""

import argparse
import sys
from pathlib import Path

from prefect_dvc.workspace.apply import apply_run
from prefect_dvc.workspace.directory import REFS
from prefect_dvc.workspace.git import WorkspaceError


def main() -> None:
    parser = argparse.ArgumentParser(prog="prefect-dvc apply", description="Bring a run back to the workspace.")
    parser.add_argument("name", help=f"name of a kept run: `git for-each-ref {REFS}` lists them")
    try:
        apply_run(Path.cwd(), parser.parse_args().name)
    except WorkspaceError as error:
        sys.exit(f"worktree: {error}")


if __name__ == "__main__":
    main()
