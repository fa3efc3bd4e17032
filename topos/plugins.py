"""Classes found by name: in a package of this program, in ``--custom`` files, in installed packages.

Topologies, schemes, agent protocols and measurements have a :class:`Registry` each.  It searches

1. a package of the program, one file per class;
2. the files that the user names (``--custom FILE.py``), each with any number of classes;
3. installed packages, by the entry points of the registry's group.

A class of the program or of an installed package is imported when it is first used; :func:`load` runs the
user's files at once.  Errors in any of them are a SpecError: one line with the file and the line number.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
import types
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from topos.errors import SpecError

T = TypeVar("T")

#: The user's files that this process has loaded, by absolute path and in order; their text.
_custom: dict[str, types.ModuleType] = {}
#: The files of installed packages that this process has loaded classes from.
_installed: set[str] = set()
_text: list[bytes] = []


def load(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Run the user's files, each once; raises SpecError with one line.

    The name of a file's module follows from its path, so that instances can be pickled between processes
    that have loaded the same files.
    """
    for path in map(os.path.realpath, paths):
        if path not in _custom:
            _custom[path] = _run(path)
            _text.append(Path(path).read_bytes())


@functools.cache
def module(path: str) -> types.ModuleType:
    """The module of a user's file that is no plug-in, run once; it may import what is beside it.  ``path`` is
    absolute.  SpecError when it cannot be read or raises an error."""
    beside = os.path.dirname(path)
    sys.path.append(beside)  # last: no file of the user's takes the place of a package
    try:
        return _run(path)
    finally:
        sys.path.remove(beside)


def loaded() -> tuple[str, ...]:
    """The absolute paths of the loaded files, for other processes that are to load them too."""
    return tuple(_custom)


def installed(*groups: str) -> bool:
    """Whether an installed package has classes in one of these groups of entry points."""
    import importlib.metadata  # as in Registry

    return any(importlib.metadata.entry_points(group=group) for group in groups)


def digest() -> str:
    """A hash of the text of the loaded files; empty when there are none."""
    import hashlib  # most processes load no files

    return hashlib.sha256(b"".join(_text)).hexdigest()[:16] if _custom else ""


def custom_error(error: BaseException) -> str | None:
    """One line for an error raised by code of the user's, in a loaded file or an installed package; None for
    other errors."""
    frames = traceback.extract_tb(error.__traceback__)
    own = (frame for frame in reversed(frames) if frame.filename in _custom or frame.filename in _installed)
    frame = next(own, None)
    return frame and f"{frame.filename}, line {frame.lineno}: {_worded(error)}"


def described(error: BaseException) -> str:
    """One line for any error, with file and line where code of the user's raised it."""
    return custom_error(error) or _worded(error)


def _worded(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


class Registry(Mapping[str, type[T]]):
    """Subclasses of ``base`` by name.

    ``package`` has a file for each, named after it (``-`` becomes ``_``); ``kind`` is the word for them in
    errors ("topology"); ``group`` is their group of entry points, if they have one.
    """

    def __init__(self, package: types.ModuleType, base: type[Any], kind: str = "", group: str = "") -> None:
        self._package, self._base, self._group = package.__name__, base, group
        self._kind = kind or base.__name__
        files = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
        self._files = {file.replace("_", "-"): file for file in files}
        self._entry_points: dict[str, Any] | None = None
        self._classes: dict[str, type[T]] = {}
        self._files_read = 0

    def __getitem__(self, name: str) -> type[T]:
        self._read_custom()
        if name not in self._classes:
            self._classes[name] = self._find(name)
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        self._read_custom()
        return iter(sorted({*self._files, *self._classes, *self._installed}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        if name in self._files:
            return True
        self._read_custom()
        return name in self._classes or name in self._installed

    def builtin(self) -> list[str]:
        """The names of the program's own classes."""
        return list(self._files)

    def is_builtin(self, name: str) -> bool:
        """True for the program's own classes."""
        return name in self._files

    def own(self, name: str) -> type[T]:
        """One of the program's own classes, even where files of the user are wrong."""
        if name not in self._classes:
            self._classes[name] = self._find(name)
        return self._classes[name]

    def defined_in(self, path: str | os.PathLike[str]) -> list[str]:
        """The names of the classes that a loaded file defines."""
        self._read_custom()
        module = _custom[os.path.realpath(path)].__name__
        return [name for name, cls in self._classes.items() if cls.__module__ == module]

    def check(self, cls: type[Any], problem: str | None, *methods: str) -> None:
        """Raise SpecError when a class has a problem, with the file and line of the class, or of the first of
        the ``methods`` that it defines."""
        if problem:
            place = next((vars(cls)[name] for name in methods if name in vars(cls)), cls)
            raise SpecError(f"{_place(place)}: {cls.__name__}: {problem}")

    def _find(self, name: str) -> type[T]:
        """A class that is not imported yet; KeyError when there is none of that name."""
        if name in self._files:
            path = f"{self._package}.{self._files[name]}"
            module = guarded(lambda: importlib.import_module(path), f"{name} cannot be loaded: ")
            if cls := self._classes_of(module).get(name):
                return cls
            raise SpecError(f"{module.__file__} defines no {self._kind} named {name!r}")
        point = self._installed[name]
        item = guarded(point.load, f"{name}, installed by {_package_of(point)}, cannot be loaded: ")
        classes = self._classes_of(item) if inspect.ismodule(item) else self._checked({"": item})
        _installed.update(filter(None, map(inspect.getsourcefile, classes.values())))
        if cls := classes.get(name):
            return cls
        raise SpecError(f"{point.value} of {_package_of(point)} is no {self._kind} named {name!r}")

    @property
    def _installed(self) -> dict[str, Any]:
        """The entry points of installed packages, read when a name is found nowhere else."""
        if not self._group:
            return {}
        if self._entry_points is None:
            import importlib.metadata  # with threading and email: agents of built-in schemes do without

            points = importlib.metadata.entry_points(group=self._group)
            for point in points:
                if point.name in self._files:
                    raise SpecError(
                        f"{_package_of(point)} installs a {self._kind} {point.name!r}, a name of dcnlab's own"
                    )
            self._entry_points = {point.name: point for point in points}
        return self._entry_points

    def _read_custom(self) -> None:
        """Add the classes of the files that were loaded since the last call."""
        for module in list(_custom.values())[self._files_read :]:
            for name, cls in self._classes_of(module).items():
                if name in self._files or name in self._classes:
                    raise SpecError(
                        f"{_place(cls)}: there is a {self._kind} {name!r} already: choose another name"
                    )
                self._classes[name] = cls
            self._files_read += 1

    def _classes_of(self, module: types.ModuleType) -> dict[str, type[T]]:
        """The classes with a name that a module defines (not those that it imports)."""
        own = {key: item for key, item in vars(module).items() if _is_from(item, module)}
        return self._checked(own)

    def _checked(self, items: Mapping[str, object]) -> dict[str, type[T]]:
        """The subclasses of the base that define a name, by name; SpecError for an incomplete one."""
        classes: dict[str, type[T]] = {}
        for item in items.values():
            if inspect.isclass(item) and issubclass(item, self._base) and "name" in vars(item):
                self.check(item, _incomplete(item, self._base))
                classes[vars(item)["name"]] = cast(type[T], item)
        return classes


def _run(path: str) -> types.ModuleType:
    """Import a file; SpecError when it cannot be read or raises an error."""
    stem = os.path.basename(path).removesuffix(".py")
    if not path.endswith(".py") or not os.path.isfile(path):
        known = os.path.isfile(path) or not path.endswith(".py")
        raise SpecError(f"{path} is not a Python file" if known else f"there is no file {path}")
    name = f"dcnlab_custom_{stem}_{zlib.crc32(path.encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        guarded(functools.partial(spec.loader.exec_module, module), path=path)
    except SpecError:
        del sys.modules[name]
        raise
    return module


def guarded(work: Callable[[], Any], what: str = "", path: str = "") -> Any:
    """Call ``work``; any error in it becomes a SpecError with file and line."""
    try:
        return work()
    except Exception as error:
        raise SpecError(what + _raised_at(error, path)) from error


def _raised_at(error: Exception, path: str) -> str:
    """An error with the line that raised it, in ``path`` if that is given:
    ``.../ring.py, line 4: NameError: ...``."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if frame.filename == path), frames[-1])
    return f"{last.filename}, line {last.lineno}: {type(error).__name__}: {error}"


def _is_from(item: object, module: types.ModuleType) -> bool:
    return getattr(item, "__module__", None) == module.__name__


def _package_of(point: Any) -> str:
    return str(point.dist.name) if point.dist else "a package"


def _place(item: Any) -> str:
    """The file and line of a class or a method: ``.../ring.py, line 14``."""
    try:
        return f"{inspect.getsourcefile(item)}, line {inspect.getsourcelines(item)[1]}"
    except (OSError, TypeError):
        return str(item.__module__)


def _incomplete(cls: type[Any], base: type[Any]) -> str | None:
    """What a class does not define, though its base requires it; None when it is complete."""
    constants = [
        name
        for owner in base.__mro__
        for name, hint in vars(owner).get("__annotations__", {}).items()
        if str(hint).startswith(("ClassVar", "typing.ClassVar")) and not hasattr(cls, name)
    ]
    if missing := sorted({*constants, *getattr(cls, "__abstractmethods__", ())}):
        return f"does not define {', '.join(missing)}, as every {base.__name__} must"
    if dataclasses.is_dataclass(base) and "__dataclass_fields__" not in vars(cls):
        return "is not a frozen dataclass: write @dataclass(frozen=True) above the class"
    return None
