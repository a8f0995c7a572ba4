"""Charts on Prefect's page: panels in rows of three, as a picture within Markdown."""

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

ACROSS = 3


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
