"""The positions of the parts of a chart, in SVG user units; templates/charts.html draws them.

y grows downwards, as in SVG. Positions are rounded to a tenth, so that the same figures give the same bytes.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

LABEL_GAP = 17.0  # between the baselines of two labels
LABEL_OFFSET = 11.0  # between a mark and its label
CELL = 46.0  # of a heat map
LETTER = 7.5  # width of a letter of its labels


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
class Scatter:
    title: str
    alt: str
    frame: Frame
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    marks: list[Mark]
    x_label: str


@dataclass(frozen=True)
class Curve:
    title: str
    alt: str
    frame: Frame
    x_ticks: list[Tick]
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
class Intervals:
    title: str
    alt: str
    frame: Frame
    x_ticks: list[Tick]
    rows: list[Interval]


@dataclass(frozen=True)
class Cell:
    """Two words; `shade` is their cosine cut to [0, 1], `text` the cosine itself."""

    x: float
    y: float
    shade: float
    text: str
    tip: str

    @property
    def dark(self) -> bool:
        return self.shade > 0.55


@dataclass(frozen=True)
class HeatMap:
    """Words of one sentence (down) against those of another (across); `left_out` have no vector."""

    title: str
    alt: str
    frame: Frame
    size: float
    rows: list[Tick]
    columns: list[Tick]
    cells: list[Cell]
    left_out: list[str]


def scatter(
    title: str,
    points: Mapping[str, tuple[float, float]],
    axis: Axis = SPEED,
    ours: Collection[str] = ("student",),
) -> Scatter:
    """Draw systems as {name: (place on the axis > 0, Spearman x 100)} on a logarithmic axis; `ours` have a colour."""
    frame = SCATTER
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
        [Tick(position(level, levels, (frame.bottom, frame.top)), f"{level:g}") for level in levels],
        _marks(places, tips, frame, ours),
        axis.label,
    )


def _marks(
    places: Mapping[str, tuple[float, float]], tips: Mapping[str, str], frame: Frame, ours: Collection[str]
) -> list[Mark]:
    """Label each mark on one side, and move the labels of a side apart."""
    anchors = _anchors(places, frame)
    marks = []
    for anchor, direction in (("start", 1), ("end", -1)):
        side = sorted((y, x, name) for name, (x, y) in places.items() if anchors[name] == anchor)
        heights = spread([y for y, _, _ in side], LABEL_GAP, frame.bottom)
        for (y, x, name), height in zip(side, heights, strict=True):
            label_x = round(x + direction * LABEL_OFFSET, 1)
            marks.append(Mark(name, x, y, label_x, height, anchor, tips[name], name in ours))
    return marks


def _anchors(places: Mapping[str, tuple[float, float]], frame: Frame) -> dict[str, str]:
    """Choose a side for each label, from left to right: left for marks of the right half, else right.

    It is the other side if a mark or a label stands in the way and the other one is free.
    """
    anchors: dict[str, str] = {}
    taken = {name: [(x, x, y)] for name, (x, y) in places.items()}  # left and right end, and height
    for name, (x, y) in sorted(places.items(), key=lambda item: item[1]):
        reach = LABEL_OFFSET + LETTER * len(name)
        spans = {"start": (x, x + reach), "end": (x - reach, x)}
        first, second = ("end", "start") if x > (frame.left + frame.right) / 2 else ("start", "end")
        others = [
            (left, right)
            for other, its in taken.items()
            for left, right, height in its
            if other != name and abs(height - y) < LABEL_GAP / 2
        ]
        blocked = {
            side: any(left <= end and begin <= right for begin, end in others) for side, (left, right) in spans.items()
        }
        fits = spans[second][0] >= 0 and spans[second][1] <= frame.width + LABEL_OFFSET
        anchors[name] = second if blocked[first] and not blocked[second] and fits else first
        taken[name].append((*spans[anchors[name]], y))
    return anchors


def curve(title: str, x_label: str, xs: Sequence[float], ys: Sequence[float]) -> Curve:
    """Draw one line over an axis that starts at zero if no value is below it."""
    frame = CURVE
    levels = ticks(min(0.0, *ys), max(ys), count=3)
    span = [xs[0], xs[-1]] if xs[-1] > xs[0] else [xs[0] - 1, xs[0] + 1]
    points = [
        (position(x, span, (frame.left, frame.right)), position(y, levels, (frame.bottom, frame.top)))
        for x, y in zip(xs, ys, strict=True)
    ]
    return Curve(
        title,
        f"{title} by {x_label}: {ys[0]:.3g} at {xs[0]:g}, {ys[-1]:.3g} at {xs[-1]:g}.",
        frame,
        [Tick(position(x, span, (frame.left, frame.right)), f"{x:g}") for x in dict.fromkeys((xs[0], xs[-1]))],
        [Tick(position(level, levels, (frame.bottom, frame.top)), f"{level:g}") for level in levels],
        points,
        x_label,
    )


def intervals(title: str, points: Mapping[str, tuple[float, float, float]], ours: Collection[str] = ()) -> Intervals:
    """Draw systems as {name: (figure, lower end, upper end)} below each other; `ours` have a colour."""
    left = 16.0 + 1.1 * LETTER * max(map(len, points))  # names of ours are in bold
    frame = Frame(left + 190, ROW * len(points) + 32, left, 6, left + 178, ROW * len(points) + 6)
    levels = ticks(min(low for _, low, _ in points.values()), max(high for _, _, high in points.values()), count=3)
    pixels = (frame.left, frame.right)
    rows = []
    for place, (name, (figure, low, high)) in enumerate(points.items()):
        at, start, end = (position(value, levels, pixels) for value in (figure, low, high))
        tip = f"{name}: {figure:.1f}, 95% interval {low:.1f} to {high:.1f}"
        rows.append(Interval(name, frame.top + ROW * (place + 0.5), at, start, end, tip, name in ours))
    return Intervals(
        title,
        f"{title} ×100. " + "; ".join(row.tip for row in rows) + ".",
        frame,
        [Tick(position(level, levels, pixels), f"{level:g}") for level in levels],
        rows,
    )


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cosines: Sequence[Sequence[float]],
    left_out: Sequence[str],
) -> HeatMap:
    """Draw a square for each two words; the labels are left of the rows and, slanted, above the columns."""
    left, top = (
        12.0 + LETTER * max((len(word) for word in words), default=0) * part
        for words, part in ((rows, 1), (columns, 0.75))
    )
    frame = Frame(
        left + CELL * len(columns) + 4 * LETTER,
        top + CELL * len(rows),
        left,
        top,
        left + CELL * len(columns),
        top + CELL * len(rows),
    )
    cells = [
        Cell(
            left + CELL * x,
            top + CELL * y,
            round(min(max(cosine, 0.0), 1.0), 3),
            f"{cosine:.2f}".replace("-", "\N{MINUS SIGN}"),
            f"{one} – {other}: {cosine:.3f}",
        )
        for y, (one, line) in enumerate(zip(rows, cosines, strict=True))
        for x, (other, cosine) in enumerate(zip(columns, line, strict=True))
    ]
    return HeatMap(
        title,
        f"{title}: cosines of {', '.join(rows)} with {', '.join(columns)}. "
        + "; ".join(cell.tip for cell in cells)
        + ".",
        frame,
        CELL,
        [Tick(top + CELL * (y + 0.5), word) for y, word in enumerate(rows)],
        [Tick(left + CELL * (x + 0.5), word) for x, word in enumerate(columns)],
        cells,
        list(dict.fromkeys(left_out)),
    )


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


def spread(heights: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Push sorted heights down until neighbours are `gap` apart, then up again from `bottom`."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    limit = bottom
    for place in reversed(range(len(placed))):
        placed[place] = round(min(placed[place], limit), 1)
        limit = placed[place] - gap
    return placed


def _power(power: float) -> str:
    return f"{10**power:,.0f}" if power >= 0 else f"{10**power:g}"
