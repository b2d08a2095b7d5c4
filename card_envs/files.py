"""Files are written whole or not at all, and a folder belongs to one process at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from card_envs.errors import CardEnvsError

try:
    import fcntl
except ImportError:  # Windows has no flock
    fcntl = None  # type: ignore[assignment]

_UNFINISHED = ".tmp"


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Opens a file that appears at `path` only when the block has ended without an error, replacing what was there.

    A link stays a link. A pipe or a device is written to as it is. Half a surrogate pair is written as its escape.

    Raises:
        CardEnvsError: `path` is a folder.
        OSError: it can't be written; the error names `path`.
    """
    path = Path(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "errors": "backslashreplace", "newline": "\n"}
    if path.is_dir():
        raise CardEnvsError(f"{path} is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        with open(path, mode, **text) as file:
            yield file
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.", suffix=_UNFINISHED)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, temporary):  # nobody knows the temporary file
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Holds a folder for this process. The system lets go of it when a process dies, so nothing stays behind.

    Where the system has no flock (Windows) nobody is kept out.

    Raises:
        CardEnvsError: another process holds it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CardEnvsError(f"{folder} is in use by another process: wait until that has ended") from None
        yield
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Removes what a process that was killed in the middle of `atomic_write` has left in a folder."""
    for path in folder.glob(f".*{_UNFINISHED}"):
        path.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
