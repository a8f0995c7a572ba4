"""The command line: `python -m measurements.graphs build|run|table`."""

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import measurements.graphs
from measurements.graphs.build import INFO, build
from measurements.graphs.children import CODE, ProjectError
from measurements.graphs.compare import Comparison
from measurements.graphs.names import NamesError, Project, read_names
from measurements.graphs.table import read_results, table

COMMAND = "python -m prefect_dvc.cli run --apply"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        options.act(options)
    except NamesError as error:
        sys.exit(f"graphs: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m measurements.graphs",
        description=measurements.graphs.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    acts = parser.add_subparsers(required=True)
    common, listed = argparse.ArgumentParser(add_help=False), argparse.ArgumentParser(add_help=False)
    common.add_argument("--work", type=Path, required=True, metavar="DIR", help="the work folder")
    listed.add_argument("--names", type=Path, required=True, metavar="FILE", help="the names of the projects")
    listed.add_argument("--again", action="store_true", help="also those that are done")
    building = acts.add_parser("build", parents=[common, listed], help="build the repositories")
    building.add_argument("--mirror", type=Path, required=True, metavar="DIR", help="the projects' git repositories")
    building.set_defaults(act=build_all)
    running = acts.add_parser("run", parents=[common, listed], help="run and compare them")
    running.add_argument("--command", default=COMMAND, help="called in each repository (default: %(default)s)")
    running.add_argument("--code", type=Path, default=CODE, metavar="DIR", help="PYTHONPATH of the command")
    running.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for one call (default: 300)")
    running.add_argument("--runs", type=int, default=3, choices=(1, 2, 3), help="only the first, or the second, too")
    running.add_argument("--jobs", type=int, default=1, help="projects at a time (default: 1)")
    running.set_defaults(act=run_all)
    printing = acts.add_parser("table", parents=[common], help="print the results")
    printing.set_defaults(act=lambda options: print(table(list(read_results(options.work)))))
    return parser


def build_all(options: argparse.Namespace) -> None:
    """Build each project that is not built yet."""

    def make(project: Project) -> None:
        info = build(project, options.mirror.absolute(), options.work)
        about = f"{project.key}: {len(info['stages'])} stages; {info['features']}"
        print(about, *info["notes"], sep="\n    ", flush=True)

    for project in read_names(options.names):
        if options.again or not (options.work / project.key / INFO).exists():
            _tried(make, project)


def run_all(options: argparse.Namespace) -> None:
    """Run each built project that has no result yet, and write its result."""
    results = options.work / "results"
    results.mkdir(exist_ok=True)
    options.code = options.code.absolute()

    def run(project: Project) -> None:
        file = results / f"{project.key}.json"
        if (file.exists() and not options.again) or not (options.work / project.key / INFO).exists():
            return
        result = Comparison(project, options).run()
        if not options.code.is_dir():  # it may go while this runs; Python then imports another engine without a word
            raise ProjectError(
                f"--code {options.code} is not a directory: there is no result. Make the checkout again."
            )
        file.write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
        print(f"{project.key}: {result.verdict}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda project: _tried(run, project), read_names(options.names)))


def _tried(action: Callable[[Project], None], project: Project) -> None:
    """Do something with a project; if that can't be, say why, and go on with the next one."""
    try:
        action(project)
    except ProjectError as error:
        print(f"{project.key}: {error}", file=sys.stderr, flush=True)
    except Exception:  # a fault of this program: hours of other projects should not be lost
        print(f"{project.key}: {traceback.format_exc()}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
