"""Write files as a whole or not at all, and read them with errors that name the file and the fault.

A writer fills a partial file next to its target and renames it at the end. So a process that is killed leaves nothing
at a final path. The partial file's name is fixed, so the next run overwrites it. Of two writers at once the second
takes another name, and the last one's file stays.
"""

import csv
import errno
import io
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from sentence_distillery.io import checksums
from sentence_distillery.io.errors import RESTORE as RESTORE
from sentence_distillery.io.errors import InputError as InputError
from sentence_distillery.io.errors import unreadable as unreadable

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import TypeAdapter

WINDOWS = os.name == "nt"
if not WINDOWS:
    import fcntl

Tensors = dict[str, NDArray[Any]]


def check_target(target: Path) -> None:
    """Raise InputError for a path that cannot be replaced as a whole: . and .., or one with too long a name."""
    if target.name in ("", ".."):
        raise InputError(f"{target} cannot be replaced as a whole; name a file or a directory in it.")
    try:
        _beside(target, "lock.partial").exists()
    except OSError as error:
        raise InputError(_cannot_write(target, error)) from error


def _beside(target: Path, suffix: str = "partial") -> Path:
    return target.with_name(f".{target.name}.{suffix}")


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """Yield the partial path of a target: the same one each time, or beside another writer one of its own."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(_beside(target, "lock.partial")) as alone:
        yield _beside(target) if alone else _beside(target, f"{os.getpid()}-{get_ident()}.partial")


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Lock a path while the block runs, and yield True; False if another process or thread has locked it.

    The lock goes with its process. On Windows, and on file systems without locks, it counts as held.
    """
    if WINDOWS:
        yield True
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    held = _lock_file(descriptor, path)
    try:
        yield held
    finally:
        if held:
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock_file(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):  # the second if its holder has just removed it
        return False
    except OSError:
        return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    if WINDOWS and path.is_dir():  # it opens none, and syncs only what may be written
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a partial path next to `target` and rename it to `target` when the block ends without an error.

    Raises InputError, naming the path, if the disk is full or the directory cannot be written.
    """
    check_target(target)
    with _whole_or_not(target) as partial:
        yield partial

        # On the disk before the rename: after a power cut the name has the old content or the new one.
        _sync(partial)
        partial.replace(target)


@contextmanager
def atomic_directory(target: Path) -> Iterator[Path]:
    """Yield an empty partial directory next to `target` that replaces it; otherwise as `atomic_file`."""
    check_target(target)
    with _whole_or_not(target) as partial:
        _remove(partial)
        partial.mkdir()
        yield partial

        # The same order as for a file: content first, then the name.
        for file in partial.rglob("*"):
            _sync(file)
        _replace_directory(partial, target)


@contextmanager
def _whole_or_not(target: Path) -> Iterator[Path]:
    """Yield a partial path, and note that `target` is written; after an error discard the partial path."""
    try:
        with _partial(target) as partial:
            try:
                yield partial
                checksums.note(target)
            except BaseException:
                _discard(partial)
                raise
    except (OSError, SafetensorError) as error:  # safetensors raises its own error for a full disk
        raise InputError(_cannot_write(target, error)) from error


def refuse_all_but(directory: Path, is_own: Callable[[Path], bool], kind: str) -> None:
    """Raise InputError if a directory that is to be replaced is a file, or holds anything that is not of this kind."""
    check_target(directory)
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory} is a file; name a directory to write.")
    for entry in sorted(directory.iterdir()):
        if not is_own(entry):
            raise InputError(
                f"{directory} holds '{entry.name}', which is not part of {kind}, and the whole directory is replaced. "
                "Name a new directory, or an empty one."
            )


def has_columns(file: Path, names: Iterable[str]) -> bool:
    """Tell whether a file is Parquet with these columns, in order to know what a directory holds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(names) <= set(pq.read_schema(file).names)
    except (OSError, pa.ArrowException):
        return False


def _replace_directory(partial: Path, target: Path) -> None:
    """Move `target` aside before removing it, so that a kill in between leaves no half of it at the final path."""
    old = partial.with_suffix(".old.partial")
    _remove(old)
    while partial.exists():
        with suppress(FileNotFoundError):  # the first time there is nothing to move
            target.rename(old)
        try:
            partial.replace(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise  # and otherwise another writer was faster
            _remove(old)
    _discard(old)


def _discard(partial: Path) -> None:
    with suppress(OSError):  # the error that led here says more, and the next run overwrites the partial path
        _remove(partial)


def _cannot_write(target: Path, error: Exception) -> str:
    other = getattr(error, "filename", None)  # the file that failed, which may be elsewhere
    elsewhere = f" ({other})" if other and str(_beside(target, "")) not in str(other) else ""
    too_long = getattr(error, "errno", None) == errno.ENAMETOOLONG
    remedy = "give a shorter name" if too_long else "free some space or make the directory writable"
    return (
        f"{target} could not be written: {getattr(error, 'strerror', None) or error}{elsewhere}. What was there before "
        f"is intact; {remedy}, then run again."
    )


def write_json(target: Path, value: object) -> None:
    """Write `value` as indented JSON; NaN and infinity are refused, since JSON cannot write them."""
    with atomic_file(target) as partial:
        partial.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def check_kind(path: Path) -> None:
    """Raise InputError if a path is a directory, a FIFO or a device: reading one of these fails, or never ends."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file. {RESTORE}", path)


def read_json(path: Path, schema: Any) -> Any:
    """Read a JSON file that fits a schema: a type that pydantic knows. No text is taken for a number.

    Raises InputError if the file is missing, is not JSON, has another content or is not the one that was written; the
    message has the file, the place in it, what is there, and the remedy.
    """
    check_kind(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise _cannot_read(path, error) from error
    return fitting(path, content, schema)


def fitting(path: Path, content: Any, schema: Any) -> Any:
    """Return the content of a file if it fits a schema, else raise as `read_json`."""
    from pydantic import ValidationError  # which loading and encoding do without

    try:
        _adapter(schema).validate_python(content, strict=True)
    except ValidationError as error:
        raise unreadable(path, _problem(error.errors()[0])) from error
    checksums.check_file(path)
    return content


def _problem(detail: Any) -> str:
    """Return the place of a fault in a file, the fault and, if it helps, the value there."""
    place = ".".join(map(str, detail["loc"])) or "the whole file"
    if detail["type"] == "value_error":  # concerns several values, which the message names
        return f"{place}: {detail['ctx']['error']}"
    found = repr(detail["input"])
    shown = found if len(found) <= 60 else f"{found[:60]}…"
    return f"{place}: {detail['msg']}" + ("" if detail["type"] == "missing" else f", found {shown}")


@cache
def _adapter(schema: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(schema)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def read_rows(
    path: Path, columns: Mapping[str, Callable[[str], object]], tables: Sequence[Sequence[str]] = ()
) -> list[dict[str, str]]:
    """Read the rows of a CSV table in UTF-8, by column; lines that start with # are comments.

    `columns` has a function for each column that the table must have, which raises ValueError for a wrong value; others
    are kept as they are. If `tables` are given, the table has exactly the columns of one of them, in any order.

    Raises InputError if the file is missing or not such a table, a row has more or fewer fields than the first line, a
    value is wrong, or the file is not the one that was written; the message has the file and the row.
    """
    check_kind(path)
    try:
        text = path.read_text(encoding="utf-8")
        lines = [line for line in io.StringIO(text, newline="") if not line.startswith("#")]
        reader = csv.DictReader(lines, strict=True)
        rows = list(reader)
    except (OSError, ValueError, csv.Error) as error:
        raise _cannot_read(path, error) from error

    # A table of another kind is refused by its header, before a value of it is misread.
    names = list(reader.fieldnames or ())
    if absent := [name for name in columns if name not in names]:
        raise unreadable(path, f"it has no column '{absent[0]}' (it has {', '.join(names) or 'none'})")
    if tables and not any(set(names) == set(table) for table in tables):
        raise unreadable(path, f"it has the columns {', '.join(names) or 'none'}, not {', '.join(tables[0])}")
    for number, row in enumerate(rows, start=1):
        _check_row(path, number, row, columns)
    checksums.check_file(path)
    return rows


def _check_row(path: Path, number: int, row: dict[str, str], columns: Mapping[str, Callable[[str], object]]) -> None:
    if None in row or None in row.values():
        raise unreadable(path, f"row {number}: it has more or fewer fields than the first line")
    for name, read in columns.items():
        try:
            read(row[name])
        except ValueError as error:
            raise unreadable(path, f"row {number}, {name}: {error}") from error


def write_rows(target: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the `columns` of rows as a CSV table, which `read_rows` reads."""
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def finite(text: str) -> float:
    """Read a number of a table; raises ValueError if it is none, or not finite."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def given(text: str) -> float | None:
    """Read a number of a table, or None if there is none; raises ValueError."""
    return finite(text) if text else None


def write_table(target: Path, table: "pa.Table") -> None:
    """Write `table` as zstd Parquet with page checksums: the same table gives the same bytes."""
    with atomic_file(target) as partial:
        import pyarrow.parquet as pq  # only for tables

        pq.write_table(table, partial, compression="zstd", write_page_checksum=True)


def read_table(path: Path, schema: "pa.Schema") -> "pa.Table":
    """Read the columns of `schema` from a Parquet file.

    Raises InputError if the file is missing, truncated or altered, or a column is absent, there twice, or of another
    type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The checksum of a page shows a damaged page, the schema another table, the number of rows a damaged footer.
    check_kind(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            _check_columns(path, file.schema_arrow, schema)
            table = file.read(schema.names)
            if table.num_rows != file.metadata.num_rows:  # the footer has no checksum to detect this
                raise pa.ArrowInvalid(f"it has {table.num_rows} rows, but should have {file.metadata.num_rows}")
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise _cannot_read(path, error) from error
    checksums.check_file(path)
    return table.select(schema.names).replace_schema_metadata(None)


def _check_columns(path: Path, found: "pa.Schema", schema: "pa.Schema") -> None:
    for field in schema:
        if field.name not in found.names:
            raise InputError(f"{path} has no column '{field.name}' (it has {', '.join(found.names)}). {RESTORE}", path)
        if (times := found.names.count(field.name)) > 1:
            raise InputError(f"{path} has the column '{field.name}' {times} times. {RESTORE}", path)
        if found.field(field.name).type != field.type:
            raise InputError(
                f"{path}: column '{field.name}' is {found.field(field.name).type}, expected {field.type}. {RESTORE}",
                path,
            )


def table_parts(directory: Path) -> list[Path]:
    """Return the `part-*.parquet` files of `directory` in order; raises InputError if there is none."""
    parts = sorted(directory.glob("part-*.parquet"))
    if not parts:
        raise InputError(f"{directory} holds no part-*.parquet. {RESTORE}", directory)
    known = [path for path in checksums.known_files(directory) if path.match("part-*.parquet")]
    if missing := [path for path in known if path not in parts]:
        raise InputError(f"{missing[0]} is missing. {RESTORE}", missing[0])
    return parts


def write_tensors(target: Path, tensors: Tensors) -> None:
    """Write named arrays as safetensors."""
    with atomic_file(target) as partial:
        partial.write_bytes(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def read_tensors(path: Path, shapes: Mapping[str, Sequence[int | None]]) -> Tensors:
    """Read the arrays named in `shapes` from a safetensors file; None matches any size.

    Raises InputError if the file is not a valid safetensors file (a pickle, a bad header, bad offsets), if an array is
    missing, or if it has another shape.
    """
    check_kind(path)
    try:
        with safe_open(path, framework="numpy") as file:
            missing = sorted(set(shapes) - set(file.keys()))
            if missing:
                raise InputError(f"{path} has no tensor '{missing[0]}' (it has {', '.join(sorted(file.keys()))}).")
            tensors = {name: file.get_tensor(name) for name in shapes}
    except (OSError, SafetensorError, ValueError) as error:  # ValueError: a shape that NumPy cannot have
        raise InputError(
            f"{path} is not a readable safetensors file ({error}). Pickled models (.bin, .pt, .pkl) are refused: "
            f"convert them to safetensors. {RESTORE}",
            path,
        ) from error

    # A valid file of another model is as wrong as a damaged one.
    for name, shape in shapes.items():
        _check_shape(path, name, tensors[name].shape, shape)
    checksums.check_file(path)
    return tensors


def _check_shape(path: Path, name: str, found: Sequence[int], expected: Sequence[int | None]) -> None:
    if len(found) != len(expected) or any(want not in (None, have) for want, have in zip(expected, found, strict=True)):
        raise InputError(f"{path}: tensor '{name}' has shape {tuple(found)}, expected {tuple(expected)}.")


def _cannot_read(path: Path, error: Exception) -> InputError:
    return unreadable(path, "it does not exist" if isinstance(error, FileNotFoundError) else str(error).strip())
