"""Speed and sizes of the encoder in the browser, from reports/browser_bench.json."""

from collections.abc import Callable
from typing import Any

from docsite.kept import record
from reproductions.docs.tables.cells import grid


def speed() -> list[str]:
    """Texts a second of each kind of text, beside transformers.js."""
    bench = record("browser_bench")
    rows = [
        [name, f"{kind['characters']:.0f}", *_beside(kind), _rate(kind["python"]["fastest"])]
        for name, kind in bench["kinds"].items()
    ]
    head = ["texts", "characters", "this file", "transformers.js", "times", "Python"]
    chromium, processor = bench["chromium"].split(".")[0], bench["machine"]["processor"]
    ways = [
        way for kind in bench["kinds"].values() for way in kind.values() if isinstance(way, dict) and "median" in way
    ]
    slower = max(way["fastest"] / way["median"] for way in ways)
    about = (
        f"Texts a second, the fastest of {bench['runs']} short runs in turns: the machine had other work, so that "
        f"medians are up to {slower:.1f} times slower. One thread; Chromium {chromium}, transformers.js "
        f"{bench['transformers.js']} by WebAssembly, {processor}; `python -m measurements.browser`. With one text a "
        f"call this file encodes {_range('own')}, and transformers.js {_range('transformers')}."
    )
    return [*grid(head, rows), "", about]


def sizes() -> list[str]:
    """Bytes that a browser loads, as they are and by gzip."""
    found = record("browser_bench")["sizes"]
    names = {
        "own": "`sentence-distillery.js`, with the WebAssembly in it",
        "core": "the WebAssembly alone",
        "model": "the released model: table, lexical channel, tokenizer",
        "transformers": "to compare: transformers.js and its runtime, without a model",
    }
    rows = [[title, f"{found[name]['bytes']:,}", f"{found[name]['gzip']:,}"] for name, title in names.items()]
    return grid(["file", "bytes", "by gzip"], rows)


def _beside(kind: dict[str, Any]) -> list[str]:
    own, theirs = (kind[name]["fastest"] for name in ("own", "transformers"))
    return [_rate(own), _rate(theirs), f"{own / theirs:.0f}"]


def _range(name: str) -> str:
    """Return the least and the greatest rate over all kinds of text, with one text a call."""
    rates = [kind[f"{name}, one text a call"]["fastest"] for kind in record("browser_bench")["kinds"].values()]
    return f"{_rate(min(rates))} to {_rate(max(rates))}"


def _rate(value: float) -> str:
    """Round to two figures: short runs are not more exact."""
    digits = len(str(int(value))) - 2
    return f"{round(value, -digits):,.0f}"


TABLES: dict[str, Callable[[], list[str]]] = {"browser speed": speed, "browser sizes": sizes}
