"""Texts a second in Chromium, one thread, beside transformers.js with the same model: `python -m measurements.browser`.

    python -m measurements.browser --from tweets.parquet sentences.txt

Both get texts of each file in one page, in turns; the fastest run is kept beside the median, since other programs
disturb it least. transformers.js reads the released encoder as `save_onnx` writes it, in batches, by WebAssembly with
SIMD and one thread. Its vectors are compared with Python's, as ours are. Python's own rate, of one thread, is measured
in the same way. Sizes are those that a browser loads, the library with its WebAssembly, and by gzip.

Needs Chromium, a compiler for WebAssembly, and `npm ci --ignore-scripts` in tests/javascript.
"""

import argparse
import gzip
import json
import shutil
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from playwright.sync_api import Page, sync_playwright

from javascript import build
from measurements.encoding import machine
from measurements.fuzz import lines_of
from measurements.sites import served
from sentence_distillery import load
from sentence_distillery.encoder.persistence.finding import RELEASED_DIRECTORY
from sentence_distillery.io.artifacts import write_json

TARGET: Final = build.ROOT / "reports" / "browser_bench.json"
MODULES: Final = build.ROOT / "tests" / "javascript" / "node_modules"
TRANSFORMERS: Final = MODULES / "@huggingface" / "transformers"
RUNTIME: Final = MODULES / "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify"
THEIRS: Final = [TRANSFORMERS / "dist/transformers.min.js", *(Path(f"{RUNTIME}.{end}") for end in ("wasm", "mjs"))]
TEXTS: Final = 20_000  # of each file
COUNTS: Final = {"own": 10_000, "transformers": 400}  # texts of a run, drawn evenly
SINGLE: Final = {"own": 4_000, "transformers": 100}  # the same if each is encoded by a call of its own
IN_PYTHON: Final = 2_000  # so few that one thread takes them
COMPARED: Final = 200
RUNS: Final = 25
WARMING: Final = 5  # runs that are not counted
BATCH: Final = 32
TOLERANCE: Final = 1e-5

LOADING: Final = """async () => {
  const { load } = await import("/sentence-distillery.js");
  const transformers = await import("/transformers.min.js");
  const { AutoModel, AutoTokenizer, env } = transformers;
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/" });
  Object.assign(env.backends.onnx.wasm, { wasmPaths: "/", numThreads: 1, proxy: false });
  const milliseconds = {};
  const timed = async (name, act) => {
    const start = performance.now();
    const made = await act();
    milliseconds[name] = performance.now() - start;
    return made;
  };
  const encoder = await timed("own", () => load("/model/", { cache: false }));
  const tokenizer = await timed("tokenizer", () => AutoTokenizer.from_pretrained("onnx"));
  const model = await timed("model", () => AutoModel.from_pretrained("onnx", { device: "wasm" }));
  window.encoders = {
    own: (texts, size) => (size === 1 ? texts.map((text) => encoder.encode(text)) : encoder.encode(texts)),
    transformers: async (texts, size) => {
      const vectors = [];
      for (let start = 0; start < texts.length; start += size) {
        const { sentence_embedding } = await model(tokenizer(texts.slice(start, start + size), { padding: true }));
        for (const row of sentence_embedding) vectors.push(row.data);
      }
      return vectors;
    },
  };
  return milliseconds;
}"""
TIMING: Final = """async ([name, texts, size]) => {
  const start = performance.now();
  const vectors = await encoders[name](texts, size);
  return vectors.length / ((performance.now() - start) / 1000);
}"""
VECTORS: Final = "async ([name, texts, size]) => (await encoders[name](texts, size)).map((row) => Array.from(row))"


def fill(folder: Path) -> None:
    """Copy both libraries and the model in both forms."""
    shutil.copy(build.PACKAGE / build.FILE, folder)
    shutil.copytree(RELEASED_DIRECTORY, folder / "model")
    load().save_onnx(folder / "onnx")
    for file in THEIRS:
        shutil.copy(file, folder)
    (folder / "index.html").write_text("<!doctype html><title>x</title><link rel=icon href=data:,>", encoding="utf-8")


def rates(page: Page, texts: list[str]) -> dict[str, dict[str, float]]:
    """Measure both in turns, and Python between them: texts a second."""
    encoder, found = load(), defaultdict[str, list[float]](list)
    for run in range(WARMING + RUNS):
        for name in COUNTS:
            found[name].append(page.evaluate(TIMING, [name, _even(texts, COUNTS[name], run), BATCH]))
            single = page.evaluate(TIMING, [name, _even(texts, SINGLE[name], run), 1])
            found[f"{name}, one text a call"].append(single)
        given = _even(texts, IN_PYTHON, run)
        start = time.perf_counter()
        encoder.encode(given)
        found["python"].append(len(given) / (time.perf_counter() - start))
    counted = {name: values[WARMING:] for name, values in found.items()}
    return {
        name: {"median": round(statistics.median(values)), "fastest": round(max(values))}
        for name, values in counted.items()
    }


def _even(texts: list[str], count: int, first: int) -> list[str]:
    return texts[first :: max(1, len(texts) // count)][:count]


def check(page: Page, texts: list[str]) -> dict[str, float]:
    """Compare the vectors of both with Python's; the largest difference of a number."""
    expected, apart = load().encode(texts[:COMPARED]), {}
    for name in ("own", "transformers"):
        vectors = np.array(page.evaluate(VECTORS, [name, texts[:COMPARED], BATCH]), np.float32)
        apart[name] = float(np.abs(np.nan_to_num(vectors) - expected).max())
        assert apart[name] <= TOLERANCE, (name, apart[name])
    return apart


def sizes() -> dict[str, dict[str, int]]:
    """Return the bytes that a browser loads, as they are and by gzip."""
    files = {
        "own": [build.PACKAGE / build.FILE],
        "types": [build.PACKAGE / "sentence-distillery.d.ts"],
        "model": [RELEASED_DIRECTORY / name for name in ("config.json", "tokenizer.json", "model.safetensors")],
        "transformers": THEIRS,
    }
    contents = {name: [path.read_bytes() for path in paths] for name, paths in files.items()}
    contents["core"] = [build.core()]
    return {
        name: {"bytes": sum(map(len, parts)), "gzip": sum(len(gzip.compress(part)) for part in parts)}
        for name, parts in contents.items()
    }


def measure(files: list[Path]) -> dict[str, Any]:
    """Run everything in a page of its own."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with TemporaryDirectory() as directory, served(Path(directory)) as address, sync_playwright() as playwright:
        fill(Path(directory))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(0)
        page.goto(address)
        loading = page.evaluate(LOADING)
        kinds = {}
        for file in files:
            texts = [text for text in lines_of([file]) if text.strip() and load().encode(text).any()][:TEXTS]
            kinds[file.stem] = {
                "texts": len(texts),
                "characters": statistics.mean(map(len, texts)),
                "apart": check(page, texts),
                **rates(page, texts),
            }
            print(file.stem, kinds[file.stem], flush=True)
        about = {"chromium": browser.version, "machine": machine(), "runs": RUNS, "loading": loading}
        browser.close()
    return {**about, "kinds": kinds}


def main() -> None:
    parser = argparse.ArgumentParser(description="Texts a second in Chromium, beside transformers.js.")
    parser.add_argument("--from", dest="files", type=Path, nargs="+", required=True, help="files of texts")
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args()
    if not TRANSFORMERS.is_dir():
        sys.exit("browser: transformers.js is missing; run `npm ci --ignore-scripts` in tests/javascript.")
    if not build.is_fresh():
        build.build()
    version = json.loads((TRANSFORMERS / "package.json").read_text(encoding="utf-8"))["version"]
    write_json(options.target, {**measure(options.files), "transformers.js": version, "sizes": sizes()})
    print(f"browser: {options.target}")


if __name__ == "__main__":
    main()
