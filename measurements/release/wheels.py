"""Build wheels for many systems on one machine, with zig as the compiler: `make wheels`.

    pip install ziglang lief abi3info
    python -m measurements.release.wheels dist

One wheel is built here by setuptools. The others are the same files with a core that zig compiled for their system: it
needs no Python of theirs, since the core uses Python's stable interface alone, and finds it in the process when it is
loaded. Windows has no such search: a library of imports names python3.dll, with all that the interface has. Each core
is then read as the loader of its system would: see `cores`.
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

from measurements.release import cores

TARGETS: Final = {  # tag of the wheel -> target of zig
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
    "win_arm64": "aarch64-windows-gnu",
}
MACHINES: Final = {"x86_64": "i386:x86-64", "aarch64": "arm64"}  # the names that dlltool has for them
NATIVE: Final = "sentence_distillery/encoder/native"
CORE: Final = f"{NATIVE}/_core.abi3.so"
WINDOWS_CORE: Final = f"{NATIVE}/_core.pyd"
FLAGS: Final = ("-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-shared", "-Wall", "-Wextra", "-s")


def pure_files(directory: Path) -> dict[str, bytes]:
    """Build the wheel of this machine, and return its files without the core."""
    shutil.rmtree("build/lib", ignore_errors=True)  # setuptools would pack what an earlier build left there
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", str(directory), "."], check=True)
    (built,) = directory.glob("*.whl")
    with ZipFile(built) as wheel:
        names = [name for name in wheel.namelist() if name != CORE and not name.endswith("/RECORD")]
        return {name: wheel.read(name) for name in names}


WINDOWS_CONFIG: Final = """
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define HAVE_PY_SSIZE_T 1
typedef long long Py_ssize_t;
"""  # what Python's headers ask of a system; pyconfig.h of this machine describes this one


def core_for(target: str, directory: Path) -> bytes:
    """Compile the core for a target of zig."""
    output = directory / f"{target}.so"
    include = Path(sysconfig.get_path("include"))
    others = ["-fPIC", "-lm", *(["-Wl,-undefined,dynamic_lookup"] if "macos" in target else [])]
    if "windows" in target:
        include, others = windows_files(target, include, directory)
    sources = sorted(map(str, Path(NATIVE).glob("*.c")))
    zig("cc", "-target", target, *FLAGS, f"-I{include}", *sources, *others, "-o", str(output))
    return output.read_bytes()


def windows_files(target: str, include: Path, directory: Path) -> tuple[Path, list[str]]:
    """Write Python's headers as Windows needs them, and a library of what python3.dll has."""
    headers, names = directory / "windows-headers", directory / "python3.def"
    library = directory / f"{target}.lib"
    if not headers.exists():
        shutil.copytree(include, headers)
        (headers / "pyconfig.h").write_text(WINDOWS_CONFIG, encoding="ascii")
    functions, datas = cores.stable_names()
    exports = [*sorted(functions), *(f"{name} DATA" for name in sorted(datas))]
    names.write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *exports, ""]), encoding="ascii")
    machine = MACHINES[target.partition("-")[0]]
    zig("dlltool", "-m", machine, "-D", "python3.dll", "-d", str(names), "-l", str(library))
    return headers, [str(library)]


def zig(*arguments: str) -> None:
    """Run a tool of zig's."""
    subprocess.run([sys.executable, "-m", "ziglang", *arguments], check=True)


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
            name = WINDOWS_CORE if "windows" in target else CORE
            wheel = pack({**files, name: core_for(target, place)}, tag, options.output)
            print(f"{wheel} {wheel.stat().st_size / 1e6:.1f} MB, {cores.checked(wheel)}", flush=True)


if __name__ == "__main__":
    main()
