"""The figures of all promoted versions, from the messages of their tags: do they rise or fall over the weeks?"""

import io
import math
from collections.abc import Callable
from pathlib import Path

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


def chart(versions: list[Version], wanted: Callable[[str], bool]) -> bytes | None:
    """Draw a panel for each figure over the versions, as PNG; None if there are fewer than two versions."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import
    from matplotlib.figure import Figure

    names = [name for name in dict.fromkeys(name for _, known in versions for name in known) if wanted(name)][:MOST]
    if len(versions) < 2 or not names:
        return None
    across = min(3, len(names))
    down = math.ceil(len(names) / across)
    figure = Figure(figsize=(4.5 * across, 2.6 * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes, name in zip(panels, names, strict=False):
        points = [(place, known[name]) for place, (_, known) in enumerate(versions) if name in known]
        axes.plot(*zip(*points, strict=True), marker="o")
        axes.set_title(name, fontsize=9)
        axes.set_xticks(range(len(versions)), [version for version, _ in versions], fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
