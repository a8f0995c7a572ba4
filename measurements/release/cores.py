"""Read the native core in a wheel as the loader of its system would, whatever system this is.

It must be made for the machine that the wheel's tag names, give the system one function, by which Python starts it, and
ask for nothing but functions of Python's stable interface and of the C library. What the stable interface has is told
by the package abi3info, and lief reads the formats of Linux, macOS and Windows.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

START: Final = "PyInit__core"
LEAST: Final = (3, 11)  # the version of Python whose stable interface the core is compiled for
UNDEFINED: Final = 0  # the section of a name that is elsewhere
MACHINES: Final = {"X86_64": "x86_64", "AARCH64": "aarch64", "ARM64": "aarch64", "AMD64": "x86_64"}
_C_LIBRARY: Final = """
    abort bcmp calloc free log malloc memchr memcmp memcpy memmove memset realloc sqrtf strchr strcmp strlen bzero
    __bzero __cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __stack_chk_fail
    __memcpy_chk __memset_chk __stack_chk_guard _availability_version_check dyld_stub_binder
"""
C_LIBRARY: Final = frozenset(_C_LIBRARY.split())
MACHO_MARKS: Final = frozenset({"_mh_dylib_header", "__dso_handle"})  # which each library of macOS has
WINDOWS_LIBRARIES: Final = ("api-ms-win-crt-", "kernel32.dll", "ucrtbase.dll", "vcruntime140.dll")


@dataclass(frozen=True)
class Core:
    """What a file says to the loader."""

    machine: str  # x86_64 or aarch64
    exported: frozenset[str]  # the names that it gives
    of_python: frozenset[str]  # the names that it asks Python for
    others: frozenset[str]  # what else it asks for
    glibc: tuple[int, int] = (0, 0)  # the least version of glibc that has all of it; (0, 0) for a system without glibc


def stable_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the functions and the variables of Python's stable interface, in the version that the core uses."""
    import abi3info

    def known(table: Any) -> frozenset[str]:
        there = (symbol for symbol, entry in table.items() if (entry.added.major, entry.added.minor) <= LEAST)
        return frozenset(symbol.name for symbol in there)

    return known(abi3info.FUNCTIONS), known(abi3info.DATAS)


def read_core(content: bytes) -> Core:
    """Read a core; raises ValueError if it is of no format that is known."""
    import lief

    found = lief.parse(list(content))
    if isinstance(found, lief.MachO.FatBinary):
        found = found.at(0)
    if isinstance(found, lief.PE.Binary):
        return _of_windows(found)
    if isinstance(found, lief.ELF.Binary):
        return _of_linux(found)
    if isinstance(found, lief.MachO.Binary):  # where each name of C begins with a low line
        exported = {str(symbol.name).removeprefix("_") for symbol in found.exported_symbols}
        asked = {str(symbol.name).removeprefix("_") for symbol in found.imported_symbols}
        return _split(found.header.cpu_type.name, exported - MACHO_MARKS, asked)
    raise ValueError("It is no library of Linux, macOS or Windows.")


def _split(machine: str, exported: set[str], asked: set[str], glibc: tuple[int, int] = (0, 0)) -> Core:
    python = frozenset(name for name in asked if name.startswith(("Py", "_Py")))
    return Core(MACHINES.get(machine, machine), frozenset(exported), python, frozenset(asked - python), glibc)


def _of_linux(found: Any) -> Core:
    """Read a library of Linux, which says for each name the version of glibc that has it, such as GLIBC_2.29."""
    named = [symbol for symbol in found.dynamic_symbols if symbol.name]
    asked = {str(symbol.name) for symbol in named if symbol.shndx == UNDEFINED}
    exported = {str(symbol.name) for symbol in named if symbol.shndx != UNDEFINED}
    needed = (entry.name for library in found.symbols_version_requirement for entry in library.get_auxiliary_symbols())
    return _split(found.header.machine_type.name, exported, asked, _glibc(r"^GLIBC_(\d+)\.(\d+)", needed))


def _glibc(pattern: str, names: Iterable[str]) -> tuple[int, int]:
    """Return the greatest version of glibc that a pattern finds."""
    versions = (re.search(pattern, name) for name in names)
    return max(((int(version[1]), int(version[2])) for version in versions if version), default=(0, 0))


def _of_windows(found: Any) -> Core:
    """Read a library of Windows, where each name is asked of a library by name."""
    python, others = set[str](), set[str]()
    for library in found.imports:
        names = {str(entry.name) for entry in library.entries}
        if library.name.lower() == "python3.dll":
            python |= names
        elif not library.name.lower().startswith(WINDOWS_LIBRARIES):
            others |= {f"{library.name}: {name}" for name in names}
    exported = {str(entry.name) for entry in found.get_export().entries}
    machine = found.header.machine.name
    return Core(MACHINES.get(machine, machine), frozenset(exported), frozenset(python), frozenset(others))


def checked(wheel: Path) -> str:
    """Check the core in a wheel, and say what was found; raises ValueError if a loader or a Python might refuse it."""
    with ZipFile(wheel) as packed:
        (name,) = (each for each in packed.namelist() if "/_core." in each and each.endswith((".so", ".pyd")))
        core = read_core(packed.read(name))
    machine = "aarch64" if wheel.stem.endswith(("aarch64", "arm64")) else "x86_64"
    functions, datas = stable_names()
    assert core.of_python, f"{wheel.name}: no name of Python's was read"
    faults = {
        f"is for {core.machine}": core.machine != machine,
        f"gives {sorted(core.exported)}": core.exported != {START},
        f"asks Python for {sorted(core.of_python - functions - datas)}": not core.of_python <= functions | datas,
        f"asks for {sorted(core.others - C_LIBRARY)}": bool(core.others - C_LIBRARY),
        f"needs glibc {core.glibc}": core.glibc > _glibc(r"-manylinux_(\d+)_(\d+)_", [wheel.name]),
    }
    if found := [fault for fault, there in faults.items() if there]:
        raise ValueError(f"{wheel.name}: {name} {', and '.join(found)}")
    return f"asks for {len(core.of_python)} names of Python's stable interface"
