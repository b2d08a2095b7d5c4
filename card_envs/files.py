"""Files are written whole or not at all, and a folder belongs to one process at a time."""

from __future__ import annotations

import functools
import logging
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
_log = logging.getLogger(__name__)


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

    Where the system has no flock (Windows) nobody is kept out, and a warning says so.

    Raises:
        CardEnvsError: another process holds it.
    """
    if fcntl is None:
        _warn_of_no_lock()
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


@functools.cache
def _warn_of_no_lock() -> None:
    """Once per process."""
    _log.warning("this system has no flock, so nothing keeps another process out of a folder in use: run one at a time")


@contextmanager
def resumable(place: Path) -> Iterator[None]:
    """What can't be written for want of room or rights in this block can be written later, and the message says how.

    Args:
        place: what is written where the error names no file.

    Raises:
        CardEnvsError: naming the file, the reason and `--resume`.
    """
    try:
        yield
    except BrokenPipeError:  # nobody reads what is printed
        raise
    except OSError as error:
        name, reason = error.filename or place, error.strerror or error
        raise CardEnvsError(f"{name} can't be written: {reason}; --resume goes on from what is saved") from None


def remove_unfinished(folder: Path) -> None:
    """Removes what a process that was killed in the middle of `atomic_write` has left in a folder."""
    for path in folder.glob(f".*{_UNFINISHED}"):
        path.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
