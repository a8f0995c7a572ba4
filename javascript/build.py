"""Compile the native core to WebAssembly, and write the JavaScript file that has it: `make javascript`.

    build/javascript/                        the package for npm: the file, its types, package.json, README.md
    sentence_distillery/serving/page/        the same file, for `explore --static` and for wheels

clang with lld, or the package ziglang, compiles; WASM_CC names another compiler that takes clang's options.
"""

import base64
import gzip
import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
NATIVE: Final = ROOT / "sentence_distillery" / "encoder" / "native"
PACKAGE: Final = ROOT / "build" / "javascript"
FILE: Final = "sentence-distillery.js"
SHIPPED: Final = ROOT / "sentence_distillery" / "serving" / "page" / "encoder.js"
SOURCES: Final = (
    HERE / "module.c",
    HERE / "libc" / "libc.c",
    *(NATIVE / f"{name}.c" for name in ("text", "vocabulary", "words", "vectors", "kernels")),
)
COPIED: Final = ("sentence-distillery.d.ts", "package.json", "README.md")
INPUTS: Final = (
    *(*SOURCES, *NATIVE.glob("*.h"), *HERE.glob("libc/*.h"), Path(__file__)),
    *(HERE / name for name in (FILE, *COPIED)),
)
FLAGS: Final = (
    *("-O3", "-std=c11", "-ffreestanding", "-nostdlib", "-ffp-contract=off", "-Wall", "-Wextra"),
    *(f"-I{HERE / 'libc'}", f"-I{NATIVE}"),
    *("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=131072"),
)
CLANG: Final = ("--target=wasm32", "-msimd128", "-mbulk-memory")
ZIG: Final = ("--target=wasm32-freestanding", "-mcpu=generic+simd128+bulk_memory")
REMEDY: Final = "Install clang and lld (apt-get install clang lld), or the package ziglang (pip install ziglang)."


def compiler() -> list[str] | None:
    """Return the command that compiles to WebAssembly, without its sources; None if there is no compiler for it."""
    if given := os.environ.get("WASM_CC"):
        return [*shlex.split(given), *CLANG]
    if shutil.which("clang"):
        linker = subprocess.run(["clang", "--print-prog-name=wasm-ld"], capture_output=True, text=True).stdout.strip()
        if shutil.which(linker):
            return ["clang", *CLANG]
    return [sys.executable, "-m", "ziglang", "cc", *ZIG] if find_spec("ziglang") else None


def core() -> bytes:
    """Compile the core; raises SystemExit with one line if there is no compiler, or it fails."""
    command = compiler()
    if command is None:
        raise SystemExit(f"No compiler for WebAssembly was found. {REMEDY}")
    with TemporaryDirectory() as directory:
        target = Path(directory) / "core.wasm"
        done = subprocess.run([*command, *FLAGS, "-o", str(target), *map(str, SOURCES)])
        if done.returncode:
            raise SystemExit(f"`{shlex.join(command)}` fails; what it says stands above.")
        return target.read_bytes()


def is_fresh() -> bool:
    """Tell whether the built files are newer than all that they are made of."""
    targets = [PACKAGE / FILE, SHIPPED]
    if not all(target.exists() for target in targets):
        return False
    return min(target.stat().st_mtime for target in targets) > max(path.stat().st_mtime for path in INPUTS)


def build() -> str:
    """Write the file to both places, and return its content."""
    compiled = core()
    text = (HERE / FILE).read_text(encoding="utf-8").replace("@core@", base64.b64encode(compiled).decode())
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copy(HERE / name, PACKAGE / name)
    for target in (PACKAGE / FILE, SHIPPED):
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    for name, content in ((FILE, text.encode()), ("the core in it", compiled)):
        print(f"{name}: {len(content):,} bytes, {len(gzip.compress(content)):,} by gzip")
    return text


if __name__ == "__main__":
    if not is_fresh():
        build()
