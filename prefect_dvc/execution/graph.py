"""The graph of dvc.yaml, as DVC reads it: the stages, their upstream stages, and their needs.

    crawl -> clean -> skipgram -> refine      read_graph(repo, "refine") == [crawl, clean, skipgram, refine]

`dvc.yaml` stays the only definition of the graph; a cell of a matrix is a separate stage, `name@cell`.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx as nx
from dvc.repo import Repo

from prefect_dvc import dvc_private
from prefect_dvc.errors import Refusal, nearest, reasons
from prefect_dvc.settings.graph_files import GRAPH, graph_files
from prefect_dvc.settings.resources import Needs, NeedsError, read_needs
from prefect_dvc.workspace.contents import covers, inside


class GraphError(Refusal):
    """The graph or the requested target is wrong; the message has the value and the remedy."""


@dataclass(frozen=True)
class Stage:
    """A stage under the name that `dvc repro` takes, with the names of those whose outputs it reads."""

    name: str
    upstream: tuple[str, ...]
    needs: Needs = field(default_factory=Needs)
    outs: tuple[str, ...] = field(default=(), compare=False)  # paths, from the top of the repository

    def makes(self, path: str) -> bool:
        """Return whether it writes a file, or the directory around that."""
        return any(covers(out, path) for out in self.outs)


def read_graph(repo: Repo, target: str | None = None, files: Collection[str] | None = None) -> list[Stage]:
    """List every stage, or `target` (a stage, or a matrix) and everything it depends on, in the order of `dvc repro`.

    With `files`, only the stages that make one of them, and all that they depend on. A frozen stage depends on nothing,
    as for `dvc repro`. Raises GraphError.
    """
    try:
        graph = dvc_private.active_graph(repo)
    except Exception as error:  # DVC and its libraries refuse in many ways
        raise GraphError(reasons(error)) from error
    if not graph and not graph_files(Path(repo.root_dir)):
        raise GraphError("There is no dvc.yaml with a stage. Add one: dvc stage add")
    names = {node: node.addressing for node in graph}
    if target is not None:
        place = os.path.normpath(target).removeprefix(f"{GRAPH}:")
        file = Path(repo.root_dir) / place  # or all stages of one
        wanted = [node for node in graph if f"{names[node]}@".startswith(f"{place}@") or Path(node.path) == file]
        if not wanted:
            known = sorted(names.values())
            hint = nearest(target, known, f"the stages are {', '.join(known)}.")
            raise GraphError(f"dvc.yaml has no stage '{target}'; {hint}")
        graph = _with_upstream(graph, wanted)
    if files is not None:
        makers = [node for node in graph if any(covers(out, path) for out in _outs(repo, node) for path in files)]
        graph = _with_upstream(graph, makers)
    reads = repo.index.graph  # a frozen stage is not run while the files that it names are being written
    return [
        Stage(
            names[node],
            tuple(sorted(names[up] for up in reads.successors(node) if up in graph)),
            _needs(node),
            _outs(repo, node),
        )
        for node in dvc_private.in_order(graph)
    ]


def _with_upstream(graph: nx.DiGraph, wanted: list[Any]) -> nx.DiGraph:
    """Return the part of a graph that some stages need, in the graph's order; `subgraph` has that of a set."""
    kept = set(wanted).union(*(nx.descendants(graph, node) for node in wanted))
    return nx.subgraph_view(graph, filter_node=kept.__contains__)


def nodes(repo: Repo, stages: list[Stage]) -> list[Any]:
    """Return DVC's own stages of these, in their order."""
    by_name = {node.addressing: node for node in repo.index.stages}
    return [by_name[stage.name] for stage in stages]


def _outs(repo: Repo, node: Any) -> tuple[str, ...]:
    return tuple(path for path, _ in inside(node.outs, Path(repo.root_dir)))


def _needs(node: Any) -> Needs:
    try:
        return read_needs(node.meta)
    except NeedsError as error:
        raise GraphError(f"dvc.yaml: `meta` of stage '{node.addressing}': {error}") from error
