"""Compilation of kernels, with a cache on disk that notices every edited rule.

Numba's own cache checks only the file that defines a function, so a loop over a game would keep running old rules
after the rules file was edited; and it never finds a function again that was made by a factory. Here a compiled
function is filed under its name, the game it was made for, its signature, the processor and a hash of all sources
it can depend on (the shared kernels and the game's own folder), one file each.

With ``NUMBA_DISABLE_JIT=1`` nothing is compiled and the same code runs in the interpreter, for debugging.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import multiprocessing
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

_log = logging.getLogger(__name__)
_PACKAGE = Path(__file__).resolve().parent.parent
_config: Any = numba.config
_CHECKSUM = hashlib.sha256().digest_size
_uncached: list[str] = []  # kernels that this process can't keep on disk


@functools.cache
def _stamp(*folders: Path) -> str:
    """A hash of everything that a kernel can depend on: `kernels/`, `games/*.py` and the folders of its own sources."""
    # a compiled function calls into the interpreter's own structures, which differ between its versions
    versions = (numba.__version__, np.__version__, sys.implementation.cache_tag, _config.BOUNDSCHECK)
    digest = hashlib.sha256(repr(versions).encode())
    for folder in dict.fromkeys((_PACKAGE / "kernels", _PACKAGE / "games", *folders)):
        for path in sorted(p for p in folder.iterdir() if p.suffix in (".py", ".json")):
            digest.update(f"{folder.name}/{path.name}".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _folder(function: Callable[..., Any]) -> Path:
    return Path(inspect.getfile(function)).resolve().parent


class _OverloadFiles:
    """One file per compiled overload: a checksum, then its pickle.

    There is no index, so processes that compile at the same time can't mix up their files.
    """

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        self._folder, self._name, self._stamp = Path(folder), name, stamp

    def _path(self, key: Any) -> Path:
        digest = hashlib.sha256(f"{self._stamp} {key!r}".encode()).hexdigest()
        return self._folder / f"{self._name}-{self._stamp[:8]}-{digest[:24]}.nbc"

    def load(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
            if hashlib.sha256(content[_CHECKSUM:]).digest() != content[:_CHECKSUM]:
                raise ValueError("its checksum is wrong")
            return pickle.loads(content[_CHECKSUM:])
        except FileNotFoundError:
            return None
        except Exception as error:  # a damaged file is as good as none: compile again and overwrite it
            _log.warning("compiled kernel %s can't be read (%s): compiling it again", self._path(key), error)
            return None

    def save(self, key: Any, data: Any) -> None:
        from numba.core.serialize import dumps

        path, content = self._path(key), dumps(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        for old in self._folder.glob(f"{self._name}-*.nbc"):
            if not old.name.startswith(f"{self._name}-{self._stamp[:8]}-"):
                old.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._name}-*.nbc"):
            path.unlink(missing_ok=True)


@functools.cache
def _announce() -> None:
    """Tells a person at a terminal, once per process, why nothing happens for a while."""
    if sys.stderr is not None and sys.stderr.isatty() and multiprocessing.parent_process() is None:
        print("compiling the game's kernels, once (up to a minute) ...", file=sys.stderr, flush=True)


def _report_uncached(name: str, error: Exception) -> None:
    """One warning per process; the other kernels will have the same reason."""
    _log.log(
        logging.DEBUG if _uncached else logging.WARNING,
        "compiled kernel %s can't be kept (%s), so every process compiles anew, for up to a minute: set the "
        "environment variable NUMBA_CACHE_DIR to a folder that can be written to",
        name,
        error,
    )
    _uncached.append(name)


def _attach_cache(dispatcher: Any, function: Callable[..., Any], name: str, stamp: str) -> None:
    """Gives a Numba dispatcher the cache above; compiles without one where that can't be had."""
    try:
        from numba.core.caching import FunctionCache

        class KernelCache(FunctionCache):
            def __init__(self) -> None:
                super().__init__(function)
                self._cache_file: Any = _OverloadFiles(self._cache_path, name, stamp)

            def _index_key(self, sig: Any, codegen: Any) -> Any:
                return (str(sig), codegen.magic_tuple())

            # A full disk, a folder that can't be written or a Numba that changed must not stop a game.

            def load_overload(self, sig: Any, target_context: Any) -> Any:
                found = None
                try:
                    found = super().load_overload(sig, target_context)
                except Exception as error:
                    _report_uncached(name, error)
                if found is None:
                    _announce()
                return found

            def save_overload(self, sig: Any, data: Any) -> None:
                try:
                    super().save_overload(sig, data)
                except Exception as error:
                    _report_uncached(name, error)

        dispatcher._cache = KernelCache()
    except Exception as error:  # Numba's internals moved, or it found no folder to write to
        _report_uncached(name, error)


def jit(function: Callable[..., Any], *, game: str = "", rules: Any = None, inline: bool = True) -> Any:
    """Compiles `function` in Numba's nopython mode, without the interpreter lock, cached on disk.

    Args:
        function: a plain function; use it bare as a decorator.
        game: what to add to the function's name where a factory makes it once per game.
        rules: then also one of that game's compiled functions; the sources beside it count for the cache's validity.
        inline: whether it becomes part of every function that calls it.
    """
    if _config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # the generator's arithmetic wraps around on purpose
    # These call their parts from many places: all of them inlined can take minutes and gigabytes.
    if function.__module__.endswith((".heuristic", ".network")):
        inline = False
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=inline)(function)
    sources = [function] + ([rules.py_func] if rules is not None else [])
    if not all(Path(inspect.getfile(source)).is_file() for source in sources):
        return dispatcher  # typed in somewhere: no file tells whether it has changed
    module = function.__module__.rpartition("card_envs.")[2]
    name = ".".join(part for part in (module, function.__name__, game) if part)
    _attach_cache(dispatcher, function, name, _stamp(*map(_folder, sources)))
    return dispatcher


def _borrow(typing: Any, *arrays: Any) -> Any:
    from numba.core import cgutils, types

    kinds = types.Tuple(arrays)

    def without_owners(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        views = []
        for kind, value in zip(kinds, cgutils.unpack_tuple(builder, args[0]), strict=True):
            view = context.make_array(kind)(context, builder, value=value)
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            views.append(view._getvalue())
        return context.make_tuple(builder, kinds, views)

    return kinds(types.StarArgTuple(arrays)), without_owners


def _as_they_are(*arrays: Any) -> tuple[Any, ...]:
    return arrays


#: `a, b = borrow(a, b)` at the head of a compiled loop: the function's own arguments without their reference counts.
#: Numba counts with locked instructions wherever an array is handed on, several times a decision, which cost more than
#: the rules do. Sound for arguments only, whose owner the caller holds; never for an array made in the function itself.
borrow: Any = _as_they_are if _config.DISABLE_JIT else numba.extending.intrinsic(_borrow)
