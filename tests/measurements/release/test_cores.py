"""The core of a wheel is read as the loader of its system would read it."""

import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from measurements.release import cores, wheels
from sentence_distillery.encoder.native import loading

pytest.importorskip("lief", reason="make wheels needs lief and abi3info")
pytest.importorskip("abi3info")

MACHINE = sysconfig.get_platform().rpartition("-")[2]


@pytest.fixture(scope="module")
def core() -> bytes:
    """The core of this machine, which is for any version of glibc that is not newer than this one's."""
    compiled = loading.core()
    if compiled is None or sys.platform != "linux":
        pytest.skip("no core was compiled for Linux")
    return Path(str(compiled.__file__)).read_bytes()


def wheel(place: Path, content: bytes, tag: str = f"manylinux_2_99_{MACHINE}") -> Path:
    path = place / f"sentence_distillery-1-cp311-abi3-{tag}.whl"
    with ZipFile(path, "w") as packed:
        packed.writestr("sentence_distillery/encoder/native/_core.abi3.so", content)
        packed.writestr("sentence_distillery/encoder/native/_core.pyi", "")
    return path


def test_this_machines_core_is_what_a_loader_takes(core: bytes, tmp_path: Path) -> None:
    assert "names of Python's stable interface" in cores.checked(wheel(tmp_path, core))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\0PyList_Size\0", b"\0PyList_Sjze\0", r"asks Python for \['PyList_Sjze'\]"),
        (b"\0realloc\0", b"\0realtoc\0", r"asks for \['realtoc'\]"),
        (b"\0PyInit__core\0", b"\0PyInit__corn\0", r"gives \['PyInit__corn'\]"),
    ],
)
def test_a_name_that_nobody_has_is_found(core: bytes, tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    assert old in core
    with pytest.raises(ValueError, match=message):
        cores.checked(wheel(tmp_path, core.replace(old, new)))


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (f"manylinux_2_2_{MACHINE}", "needs glibc"),
        (f"musllinux_1_2_{MACHINE}", "needs glibc"),
        ("manylinux_2_99_aarch64" if MACHINE == "x86_64" else "manylinux_2_99_x86_64", f"is for {MACHINE}"),
    ],
)
def test_a_core_for_another_system_than_its_tag(core: bytes, tmp_path: Path, tag: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cores.checked(wheel(tmp_path, core, tag))


def test_what_is_no_library_is_refused() -> None:
    with pytest.raises(ValueError, match="no library"):
        cores.read_core(b"#!/bin/sh\n" * 100)


@pytest.mark.endurance
@pytest.mark.parametrize(("tag", "target"), wheels.TARGETS.items())
def test_each_system_can_load_its_core(tag: str, target: str, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="zig compiles for other systems")
    cores.checked(wheel(tmp_path, wheels.core_for(target, tmp_path), tag))
