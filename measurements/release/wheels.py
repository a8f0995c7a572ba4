"""Build wheels for many systems on one machine, with zig as the compiler: `make wheels`.

    pip install ziglang
    python -m measurements.release.wheels dist

One wheel is built here by setuptools. The others are the same files with a core that zig compiled for their system: it
needs no Python of theirs, since the core uses Python's stable interface alone, and finds it in the process when it is
loaded. Windows has no such search; its wheels are built on Windows, by .github/workflows/wheels.yml.
"""

import argparse
import base64
import hashlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

TARGETS: Final = {  # tag of the wheel -> target of zig
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
}
NATIVE: Final = "sentence_distillery/encoder/native"
CORE: Final = f"{NATIVE}/_core.abi3.so"
FLAGS: Final = (
    "-std=c11",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-Wall",
    "-Wextra",
    "-s",
)


def pure_files(directory: Path) -> dict[str, bytes]:
    """Build the wheel of this machine, and return its files without the core."""
    shutil.rmtree("build/lib", ignore_errors=True)  # setuptools would pack what an earlier build left there
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", str(directory), "."], check=True)
    (built,) = directory.glob("*.whl")
    with ZipFile(built) as wheel:
        names = [name for name in wheel.namelist() if name != CORE and not name.endswith("/RECORD")]
        return {name: wheel.read(name) for name in names}


def core_for(target: str, directory: Path) -> bytes:
    """Compile the core for a target of zig."""
    output = directory / f"{target}.so"
    undefined = ["-Wl,-undefined,dynamic_lookup"] if "macos" in target else []
    sources = sorted(map(str, Path(NATIVE).glob("*.c")))
    include = sysconfig.get_path("include")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", target]
    subprocess.run([*zig, *FLAGS, *undefined, f"-I{include}", *sources, "-lm", "-o", str(output)], check=True)
    return output.read_bytes()


def pack(files: dict[str, bytes], tag: str, directory: Path) -> Path:
    """Write a wheel; RECORD has the SHA-256 of each file."""
    (folder,) = {name.split("/")[0] for name in files if name.endswith(".dist-info/WHEEL")}
    version = folder.removesuffix(".dist-info")
    lines = [line for line in files[f"{folder}/WHEEL"].decode().splitlines() if line and not line.startswith("Tag:")]
    content = {**files, f"{folder}/WHEEL": "\n".join([*lines, f"Tag: cp311-abi3-{tag}", ""]).encode()}
    records = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in content.items()]
    content[f"{folder}/RECORD"] = "\n".join([*records, f"{folder}/RECORD,,", ""]).encode()
    path = directory / f"{version}-cp311-abi3-{tag}.whl"
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            wheel.writestr(name, data)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build wheels for many systems with zig.")
    parser.add_argument("output", type=Path, help="directory for the wheels")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        files = pure_files(place)
        for tag, target in TARGETS.items():
            wheel = pack({**files, CORE: core_for(target, place)}, tag, options.output)
            print(f"{wheel} {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
