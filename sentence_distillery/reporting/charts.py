"""The positions of the parts of a chart, in SVG user units; templates/charts.html draws them.

y grows downwards, as in SVG. Positions are rounded to a tenth, so that the same figures give the same bytes.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

LABEL_GAP = 17.0  # between the baselines of two labels
LABEL_HEIGHT = 14.0
LABEL_OFFSET = 11.0  # between a mark and its label
LETTER = 7.5  # width of a letter of a label
BOLD_LETTER = 8.7  # of a bold one on a narrow page, where letters are larger
RADIUS = 6.0  # of the place that a mark takes
ROUNDS = 4  # of placing labels

Box = tuple[float, float, float, float]  # left, top, right, bottom
Place = tuple[str, float, float]  # of a label: anchor, x, y


@dataclass(frozen=True)
class Frame:
    """Size of a chart and the plot inside it."""

    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a scatter chart: its name, its unit, the format of a value, its label."""

    name: str
    unit: str
    digits: str
    label: str


SPEED = Axis("speed", "a second", ",.0f", "sentences a second →")
SIZE = Axis("size", "MB", ",.1f", "megabytes →")
SCATTER = Frame(440, 320, 44, 16, 424, 268)
CURVE = Frame(280, 170, 46, 14, 262, 142)
ROW = 26.0  # height of a line of a chart of intervals


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A system in the plane of speed (or size) and quality; `anchor` is the side of the label next to the mark."""

    name: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    tip: str
    ours: bool


@dataclass(frozen=True)
class Chart:
    """What every chart has; `alt` says it to those who do not see it."""

    title: str
    alt: str
    frame: Frame
    x_ticks: list[Tick]


@dataclass(frozen=True)
class Scatter(Chart):
    y_ticks: list[Tick]
    marks: list[Mark]
    x_label: str


@dataclass(frozen=True)
class Curve(Chart):
    y_ticks: list[Tick]
    points: list[tuple[float, float]]
    x_label: str


@dataclass(frozen=True)
class Interval:
    """A system on a line of its own: its figure at `x`, its interval from `low` to `high`."""

    name: str
    y: float
    x: float
    low: float
    high: float
    tip: str
    ours: bool


@dataclass(frozen=True)
class Intervals(Chart):
    rows: list[Interval]


def scatter(
    title: str,
    points: Mapping[str, tuple[float, float]],
    axis: Axis = SPEED,
    ours: Collection[str] = ("student",),
) -> Scatter:
    """Draw systems as {name: (place on the axis > 0, Spearman x 100)} on a logarithmic axis; `ours` have a colour."""
    frame = SCATTER

    # Sizes and speeds span decades, so the axis counts powers of ten, from the one below to the one above.
    logs = [math.log10(place) for place, _ in points.values()]
    decades = [float(power) for power in range(math.floor(min(logs)), math.floor(max(logs)) + 2)]
    qualities = [quality for _, quality in points.values()]
    room = (max(qualities) - min(qualities)) / 10  # so that no mark lies on the axis
    levels = ticks(min(qualities) - room, max(qualities) + room)
    places = {
        name: (
            position(math.log10(place), decades, (frame.left, frame.right)),
            position(quality, levels, (frame.bottom, frame.top)),
        )
        for name, (place, quality) in points.items()
    }
    tips = {
        name: f"{name}: Spearman {quality:.1f}, {place:{axis.digits}} {axis.unit}"
        for name, (place, quality) in points.items()
    }
    return Scatter(
        title,
        f"Spearman correlation against {axis.name} on {title}. " + "; ".join(tips.values()) + ".",
        frame,
        [Tick(position(power, decades, (frame.left, frame.right)), _power(power)) for power in decades],
        _ticks(levels, (frame.bottom, frame.top)),
        _marks(places, tips, frame, ours),
        axis.label,
    )


def _marks(
    places: Mapping[str, tuple[float, float]], tips: Mapping[str, str], frame: Frame, ours: Collection[str]
) -> list[Mark]:
    """Label the marks from left to right, each where its label covers the least of marks and other labels.

    Later rounds move a label again, now that all others have a place.
    """
    marks = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in places.values()]
    order = sorted(places, key=lambda name: places[name])
    chosen: dict[str, Place] = {}
    boxes: dict[str, Box] = {}

    # The first round has only some labels in the way, so later ones look again.
    for name in order * ROUNDS:
        taken = [*marks, *(box for other, box in boxes.items() if other != name)]
        at = {place: _label_box(name, place, name in ours) for place in _label_places(*places[name], frame)}
        chosen[name] = min(at, key=lambda place: _covered(at[place], taken, frame))  # the first of equals
        boxes[name] = at[chosen[name]]
    return [
        Mark(name, *places[name], label_x, label_y, anchor, tips[name], name in ours)
        for name in order
        for anchor, label_x, label_y in [chosen[name]]
    ]


def _label_places(x: float, y: float, frame: Frame) -> list[Place]:
    """List the places for the label of a mark, the best first.

    It is beside the mark, to the left in the right half of the chart, otherwise to the right; or above, below, or some
    lines away.
    """
    sides = [("start", 1), ("end", -1)] if x <= (frame.left + frame.right) / 2 else [("end", -1), ("start", 1)]
    return [
        (anchor, round(x + direction * LABEL_OFFSET, 1), round(y + lines * LABEL_GAP, 1))
        for lines in (0, 1, -1, 2, -2, 3, -3)
        for anchor, direction in (sides if lines == 0 else [*sides, ("middle", 0)])
    ]


def _label_box(name: str, place: Place, bold: bool) -> Box:
    anchor, x, y = place
    width = (BOLD_LETTER if bold else LETTER) * len(name)
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    return left, y - LABEL_HEIGHT / 2, left + width, y + LABEL_HEIGHT / 2


def _covered(box: Box, taken: Collection[Box], frame: Frame) -> float:
    """Return the area of `box` that lies on boxes of `taken`, or outside the plot.

    >>> _covered((100, 100, 120, 110), [(110, 90, 140, 105)], SCATTER)
    50.0
    """
    inside = _shared(box, (0.0, frame.top - LABEL_HEIGHT / 2, frame.width, frame.bottom))
    return sum((_shared(box, other) for other in taken), _shared(box, box) - inside)


def _shared(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return round(float(max(width, 0.0) * max(height, 0.0)), 3)


def curve(title: str, x_label: str, xs: Sequence[float], ys: Sequence[float]) -> Curve:
    """Draw one line over an axis that starts at zero if no value is below it."""
    frame = CURVE
    levels = ticks(min(0.0, *ys), max(ys), count=3)
    span = [xs[0], xs[-1] if xs[-1] > xs[0] else xs[0] + 1]  # a single point is left of the axis label
    points = [
        (position(x, span, (frame.left, frame.right)), position(y, levels, (frame.bottom, frame.top)))
        for x, y in zip(xs, ys, strict=True)
    ]

    # The text of the picture has its ends, for those who do not see it.
    return Curve(
        title,
        f"{title} by {x_label}: {ys[0]:.3g} at {xs[0]:g}, {ys[-1]:.3g} at {xs[-1]:g}.",
        frame,
        [Tick(position(x, span, (frame.left, frame.right)), f"{x:g}") for x in dict.fromkeys((xs[0], xs[-1]))],
        _ticks(levels, (frame.bottom, frame.top)),
        points,
        x_label,
    )


def intervals(title: str, points: Mapping[str, tuple[float, float, float]], ours: Collection[str] = ()) -> Intervals:
    """Draw systems as {name: (figure, lower end, upper end)} below each other; `ours` have a colour."""
    left = 16.0 + 1.1 * LETTER * max(map(len, points))  # names of ours are in bold
    frame = Frame(left + 190, ROW * len(points) + 32, left, 6, left + 178, ROW * len(points) + 6)
    levels = ticks(min(low for _, low, _ in points.values()), max(high for _, _, high in points.values()), count=3)
    pixels = (frame.left, frame.right)

    # A line for each system, in the order of the table.
    rows = []
    for place, (name, (figure, low, high)) in enumerate(points.items()):
        at, start, end = (position(value, levels, pixels) for value in (figure, low, high))
        tip = f"{name}: {figure:.1f}, 95% interval {low:.1f} to {high:.1f}"
        rows.append(Interval(name, frame.top + ROW * (place + 0.5), at, start, end, tip, name in ours))
    alt = f"{title} ×100. " + "; ".join(row.tip for row in rows) + "."
    return Intervals(title, alt, frame, _ticks(levels, pixels), rows)


def _ticks(levels: Sequence[float], pixels: tuple[float, float]) -> list[Tick]:
    return [Tick(position(level, levels, pixels), f"{level:g}") for level in levels]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Choose about `count` round numbers that enclose [low, high].

    >>> ticks(31, 50)
    [30.0, 35.0, 40.0, 45.0, 50.0]
    """
    span = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / count))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / count * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    return [float(f"{place * step:.12g}") for place in range(first, max(last, first + 1) + 1)]


def position(value: float, scale: Sequence[float], pixels: tuple[float, float]) -> float:
    """Map `value` from the ends of `scale` to `pixels`."""
    share = (value - scale[0]) / (scale[-1] - scale[0])
    return round(pixels[0] + share * (pixels[1] - pixels[0]), 1)


def _power(power: float) -> str:
    return f"{10**power:,.0f}" if power >= 0 else f"{10**power:g}"
