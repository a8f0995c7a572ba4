"""The processor time of the flows' own bookkeeping, compared with `dvc repro`, on graphs of tiny stages.

    python -m measurements.flows --stages 50 200

For each number of stages, in a new repository each: `dvc repro` runs all; then a pipeline without a server runs all,
restores all from DVC's cache, and finds all cached. Seconds of the processor, of all processes together, do not depend
on what else the machine does; seconds of the clock do. DVC writes all of dvc.lock after each stage, so both grow with
the square of the number. Rows of other numbers stay in the result.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from dvc.repo import Repo

from sentence_distillery.io.artifacts import write_json

RESULT = Path("reports/flow_bench.json")


def make_repository(root: Path, stages: int) -> None:
    """Make a repository of independent stages, each of which writes one line."""
    root.mkdir()
    graph = {
        f"s{number}": {"cmd": f"echo {number} > s{number}.txt", "deps": ["input.txt"], "outs": [f"s{number}.txt"]}
        for number in range(stages)
    }
    (root / "input.txt").write_text("input\n", encoding="utf-8")
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": graph}), encoding="utf-8")
    (root / ".gitignore").write_text("/s*.txt\n", encoding="utf-8")
    for command in (["init"], ["config", "user.name", "Bench"], ["config", "user.email", "bench@localhost"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    Repo.init(str(root)).close()
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n", encoding="utf-8")
    for command in (["add", "--all"], ["commit", "--quiet", "--message", "Tiny stages"]):
        subprocess.run(["git", *command], cwd=root, check=True)


def measure(root: Path, *command: str) -> dict[str, float]:
    """Run a module of Python; return the seconds of the processor and of the clock that it and its children took."""
    environment = {name: text for name, text in os.environ.items() if name != "PREFECT_API_URL"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {"cpu_seconds": round(cpu, 2), "seconds": round(time.monotonic() - begun, 2)}
    print(f"{' '.join(command)}: {found}", flush=True)
    return found


def bench(stages: int) -> dict[str, object]:
    """Measure the four runs of a graph with so many stages."""
    with tempfile.TemporaryDirectory() as place:
        by_dvc, by_flows = Path(place) / "dvc", Path(place) / "flows"
        for root in (by_dvc, by_flows):
            make_repository(root, stages)
        repro = measure(by_dvc, "dvc", "repro", "--quiet")
        ran = measure(by_flows, "prefect_dvc.cli", "run")
        restored = measure(by_flows, "prefect_dvc.cli", "run", "--apply")
        cached = measure(by_flows, "prefect_dvc.cli", "run")
    ratio = round(ran["cpu_seconds"] / repro["cpu_seconds"], 2)
    return {"stages": stages, "dvc_repro": repro, "ran": ran, "restored": restored, "cached": cached, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m measurements.flows", description="The cost of the flows.")
    parser.add_argument("--stages", type=int, nargs="+", default=[27, 50, 200], help="numbers of stages")
    kept = json.loads(RESULT.read_text(encoding="utf-8"))["runs"] if RESULT.exists() else []
    rows = {row["stages"]: row for row in kept}
    for stages in parser.parse_args().stages:
        rows[stages] = bench(stages)
        runs = [rows[number] for number in sorted(rows)]
        write_json(RESULT, {"processors": os.cpu_count(), "runs": runs})  # after each, since the largest takes long


if __name__ == "__main__":
    main()
