"""The figures of all promoted versions, from the messages of their tags: do they rise or fall over the weeks?"""

import math
from collections.abc import Callable
from pathlib import Path

from prefect_dvc.charts import Panel
from prefect_dvc.registry.promotion import Channel, registered
from prefect_dvc.workspace.git import END, git

MOST = 9  # panels of the chart
Version = tuple[str, dict[str, float]]  # its name, and its figures


def history(root: Path, channel: Channel) -> list[Version]:
    """Return the figures of each registered version, the oldest first. Raises PromotionError."""
    return [(version.name, _figures(root, channel, version.name)) for version in registered(root, channel.artifact)]


def _figures(root: Path, channel: Channel, version: str) -> dict[str, float]:
    """Read the lines `NAME: VALUE` of a tag's message."""
    tag = f"refs/tags/{channel.artifact}@{version}"
    found = dict[str, float]()
    for line in git(root, "for-each-ref", "--format=%(contents)", END, tag).splitlines():
        name, _, value = line.rpartition(": ")
        try:
            found[name] = float(value)
        except ValueError:  # a sentence, or a parameter
            continue
    return {name: value for name, value in found.items() if name and math.isfinite(value)}


def panels(versions: list[Version], wanted: Callable[[str], bool]) -> list[Panel]:
    """Return a panel for each figure over the versions; none if there are fewer than two versions."""
    if len(versions) < 2:
        return []
    names = [name for name in dict.fromkeys(name for _, known in versions for name in known) if wanted(name)]
    points = {name: [(version, known[name]) for version, known in versions if name in known] for name in names[:MOST]}
    return [Panel(name, "version", *zip(*given, strict=True)) for name, given in points.items()]
