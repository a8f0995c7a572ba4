"""Charts on Prefect's page: panels in rows of three, as a picture within Markdown.

One has the figures of all promoted versions, from the messages of their tags: do they rise or fall over the weeks?
"""

import base64
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefect_dvc.registry.promotion import Channel, registered
from prefect_dvc.workspace.git import END, git

ACROSS = 3
MOST = 9  # panels of the chart of versions
FIGURE = re.compile(r"^(.+): (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$", re.M)  # a line of a tag's message
Version = tuple[str, dict[str, float]]  # its name, and its figures


@dataclass(frozen=True)
class Panel:
    """A line over numbers, or over names in their order."""

    title: str
    across: str  # what the x axis has
    xs: Sequence[float] | Sequence[str]
    ys: Sequence[float]


def publish_chart(key: str, title: str, panels: Sequence[Panel]) -> None:
    """Publish an artifact of the present flow run with a panel for each line, since their units differ."""
    from prefect.artifacts import create_markdown_artifact

    data = base64.b64encode(draw(panels)).decode()
    create_markdown_artifact(key=key, markdown=f"![{title}](data:image/png;base64,{data})", description=title)


def draw(panels: Sequence[Panel]) -> bytes:
    """Draw panels as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and few runs draw
    from matplotlib.figure import Figure

    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(5 * across, 3 * down), layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(down, across, squeeze=False).ravel()
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(places, panels, strict=False):
        axes.plot(panel.xs, panel.ys, marker="o", markersize=4)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.across)
        axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def history(root: Path, channel: Channel) -> list[Version]:
    """Return the figures of each registered version, the oldest first. Raises PromotionError."""
    names = [version.name for version in registered(root, channel.artifact)]
    tags = {name: f"refs/tags/{channel.artifact}@{name}" for name in names}
    told = {name: git(root, "for-each-ref", "--format=%(contents)", END, tag) for name, tag in tags.items()}
    return [(name, {figure: float(value) for figure, value in FIGURE.findall(text)}) for name, text in told.items()]


def panels(versions: list[Version], wanted: Callable[[str], bool]) -> list[Panel]:
    """Return a panel for each figure over the versions; none if there are fewer than two versions."""
    if len(versions) < 2:
        return []
    names = [name for name in dict.fromkeys(name for _, known in versions for name in known) if wanted(name)]
    points = {name: [(version, known[name]) for version, known in versions if name in known] for name in names[:MOST]}
    return [Panel(name, "version", *zip(*given, strict=True)) for name, given in points.items()]
