"""The command prefect-dvc: each of its words is a module with a `main`, imported only when it is called."""

import sys
from collections.abc import Sequence
from importlib import import_module

from prefect_dvc.errors import Refusal, reasons

COMMANDS = {
    "run": ("prefect_dvc.pipeline", "bring the graph of dvc.yaml up to date, in a directory of its own"),
    "apply": ("prefect_dvc.workspace.apply", "bring a kept run back to the workspace"),
    "serve": ("prefect_dvc.server.serve", "Prefect's server, open only to its owner, on this machine"),
    "deploy": ("prefect_dvc.server.deploy", "register the flows pipeline, gpu-stage and retrain with the server"),
    "worker": ("prefect_dvc.gpu_stage", "a worker for stages with `meta: {resources: gpu}`, in a clone of its own"),
    "ui": ("prefect_dvc.server.ui", "server, deployments and two workers at once, on this machine"),
    "retrain": ("prefect_dvc.retrain", "run from a commit, compare with the promoted model, promote"),
    "promote": ("prefect_dvc.registry.promotion", "promote a kept run without comparing it"),
    "rollback": ("prefect_dvc.registry.promotion", "assign the version before the promoted one again"),
    "show": ("prefect_dvc.registry.promotion", "list the promoted versions"),
}
OF_PROMOTION = ("promote", "rollback", "show")  # subcommands of one parser
LIBRARIES = ("dvc", "prefect", "httpx")  # whose errors are those of the repository and of the server


def usage() -> str:
    """Return the list of commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {meaning}" for name, (_, meaning) in COMMANDS.items()]
    return "\n".join(["usage: prefect-dvc COMMAND ...", "", *lines, "", "COMMAND --help shows its options."])


def main(given: Sequence[str] | None = None) -> None:
    """Carry out a command, by its words or those of this process; what it refuses is one line."""
    name, *words = list(sys.argv[1:] if given is None else given) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return
    if name not in COMMANDS:
        sys.exit(f"prefect-dvc: there is no command '{name}'.\n{usage()}")
    module, _ = COMMANDS[name]
    sys.argv = ["prefect-dvc", name, *words] if name in OF_PROMOTION else [f"prefect-dvc {name}", *words]
    try:
        import_module(module).main()
    except (Refusal, OSError) as error:
        sys.exit(f"prefect-dvc {name}: {error}")
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in LIBRARIES:
            raise
        sys.exit(f"prefect-dvc {name}: {reasons(error)}")


if __name__ == "__main__":
    main()
