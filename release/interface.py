"""``python -m release.interface``: write the parts of the Python interface that follow from other code.

    dcnlab/lab/methods/measurements.py  a typed method of ``Lab`` for each measurement
    dcnlab/lab/methods/operations.py    one for each operation that needs no other code
    dcnlab/lab/methods/arguments.py     the options of ``Lab(...)`` for type checkers and editors
    dcnlab/cli/summaries.json           what ``dcnlab --help`` and ``dcnlab list`` show without importing all

They are files, because type checkers, editors and quick commands read files; a test compares them with what
this prints.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_type_hints

import typer.main

from dcnlab.cli import app, catalogue, loading, summaries
from dcnlab.lab import measurement, operations
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.options.config import lab_options, option_types

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "dcnlab" / "lab" / "methods"
_WIDTH = 112
#: ``Lab.path`` is the control socket; the measurement is ``Lab.route``.
_OTHERWISE = {"path"}

#: What only concerns the command.
_EXIT_CODE = re.compile(r"; exit 1[^.]*")

_MEASUREMENTS = '''\
"""A method of ``Lab`` for each measurement.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.methods.measuring import MeasuringClient

if TYPE_CHECKING:
{imports}

class MeasurementOperations(MeasuringClient):
    """What :class:`dcnlab.lab.client.Lab` measures.  ``progress`` is called with progress reports."""
{methods}'''

_METHOD = '''
    def {name}({parameters}) -> {result}:
        """{doc}"""
        from {module} import {kind}

        return self.measure({kind}({values}), progress)
'''

_OPERATIONS = '''\
"""A method of ``Lab`` for each operation.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcnlab.lab.methods.asking import Asking

if TYPE_CHECKING:
{imports}

class OperationMethods(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that asks for operations."""
{methods}'''

_ASKING = '''
    def {name}({parameters}) -> {result}:
        """{doc}"""
        from {module} import {kind}

        return self.perform({kind}{of}({values}))
'''

_ARGUMENTS = '''\
"""The options of ``Lab(...)`` for type checkers and editors.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import Literal, TypedDict


class LabArguments(TypedDict, total=False):
    """The options of ``dcnlab up``, as keyword arguments: ``dcnlab up --help`` says what each means."""
{fields}'''


def texts() -> dict[Path, str]:
    """The files and what they should contain."""
    made = {"measurements": measurements(), "operations": asked(), "arguments": arguments()}
    written = {FOLDER / f"{name}.py": _formatted(text) for name, text in made.items()}
    return {**written, summaries.FILE: listed()}


def listed() -> str:
    """The commands, topologies and schemes of dcnlab's own, as lists show them: a row on each line."""
    loading.load_all()
    commands: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
    own = {*measurement.known().builtin(), *operations.known().builtin(), *loading.files()}
    shown = [name for name in sorted(own) if name in commands and not commands[name].hidden]
    parts = {
        "commands": _lines("{}", (f"{_json(name)}: {_json(_summary(commands[name]))}" for name in shown)),
        "topologies": _lines("[]", map(_json, catalogue.topologies())),
        "schemes": _lines("[]", map(_json, catalogue.schemes())),
    }
    return _lines("{}", (f"{_json(name)}: {part}" for name, part in parts.items())) + "\n"


def _summary(command: Any) -> str:
    """The first paragraph of a command's help."""
    return " ".join(command.help.split("\n\n")[0].split())


def _lines(brackets: str, items: Iterable[str]) -> str:
    return ",\n".join(items).join((f"{brackets[0]}\n", f"\n{brackets[1]}"))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def asked() -> str:
    """The methods that ask for operations, in the order of their names."""
    known = sorted(operations.known().items())
    kinds = [kind for _, kind in known if kind.public and not kind.by_hand]
    answers = {one for kind in kinds for one in _classes(kind.answer())}
    named = {
        one.__module__: sorted(each.__name__ for each in answers if each.__module__ == one.__module__)
        for one in answers
    }
    imports = (f"    from {module} import {', '.join(names)}\n" for module, names in sorted(named.items()))
    return _OPERATIONS.format(imports="".join(imports), methods="".join(map(_asking, kinds)))


def _classes(hint: Any) -> Iterator[type[Any]]:
    """The classes of answers in a type."""
    if parts := typing.get_args(hint):
        for part in parts:
            yield from _classes(part)
    elif hint is not type(None):
        yield hint


def _asking(kind: type[Operation[Any]]) -> str:
    """The method of an operation; where its class has ``of``, with the parameters of that."""
    of = getattr(kind, "of", None)
    shown = inspect.signature(of.__func__ if of else kind, eval_str=bool(of))
    own = [one for one in shown.parameters.values() if one.name != "cls"]
    parameters = ["self"]
    for one in own:
        hint = one.annotation if of else get_type_hints(kind)[one.name]
        star = "*" if one.kind is one.VAR_POSITIONAL else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        parameters.append(f"{star}{one.name}: {_written(hint)}{default}")
    given: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
    }
    values = (given.get(one.kind, "{0}").format(one.name) for one in own)
    return _ASKING.format(
        name=re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(), parameters=", ".join(parameters),
        values=", ".join(values), result=_written(kind.answer()), kind=kind.__name__, module=kind.__module__,
        of=".of" if of else "", doc=_documented(kind),
    )  # fmt: skip


def arguments() -> str:
    """The options as a ``TypedDict``."""
    fields = (f"\n    {name}: {_written(option_types()[name])}" for name in lab_options())
    return _ARGUMENTS.format(fields="".join(fields) + "\n")


def measurements() -> str:
    """The methods, in the order of their names; only of this program's measurements."""
    known = sorted(measurement.known().items())
    kinds = [kind for name, kind in known if kind.__module__.startswith("dcnlab.") and name not in _OTHERWISE]
    imports = (f"    from {kind.result().__module__} import {kind.result().__name__}\n" for kind in kinds)
    return _MEASUREMENTS.format(imports="".join(sorted(imports)), methods="".join(map(_method, kinds)))


def _method(kind: type[Measurement[Any]]) -> str:
    parameters, values, summary = ["self"], [], (inspect.getdoc(kind) or "").splitlines()[0]
    for item in dataclasses.fields(kind):
        keyword = bool(item.kw_only)
        if keyword and "*" not in parameters:
            parameters.append("*")
        default = "" if item.default is dataclasses.MISSING else f" = {item.default!r}"
        parameters.append(f"{item.name}: {_written(get_type_hints(kind)[item.name])}{default}")
        values.append(f"{item.name}={item.name}" if keyword else item.name)
    parameters += [*(["*"] if "*" not in parameters else []), "progress: Progress | None = None"]
    return _METHOD.format(
        name=kind.name.replace("-", "_"), parameters=", ".join(parameters), values=", ".join(values),
        result=kind.result().__name__, kind=kind.__name__, module=kind.__module__,
        doc="\n        ".join(textwrap.wrap(_EXIT_CODE.sub("", summary), _WIDTH - 14)),
    )  # fmt: skip


def _documented(kind: type[Any]) -> str:
    """The docstring of a class as that of a method, with what ``of`` takes, and what its words mean."""
    paragraphs = _EXIT_CODE.sub("", inspect.getdoc(kind) or "").split("\n\n")
    of: Any = getattr(kind, "of", None)
    paragraphs += (inspect.getdoc(of) or "").split("\n\n") if of else []
    meant = [] if of else [(item.name, item.metadata.get("doc", "")) for item in dataclasses.fields(kind)]
    lines = [_wrapped(f"``{name}``: {doc}") for name, doc in meant if doc]
    blocks = [*map(_wrapped, paragraphs), *(["\n".join(lines)] if lines else [])]
    return "\n\n".join(blocks).replace("\n", "\n        ") + ("\n        " if len(blocks) > 1 else "")


def _wrapped(paragraph: str) -> str:
    return "\n".join(textwrap.wrap(paragraph, _WIDTH - 14, break_on_hyphens=False))


def _written(hint: Any) -> str:
    """A type as source code."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(_written, parts))
    if origin is not None:
        return f"{origin.__name__}[{', '.join('...' if part is ... else _written(part) for part in parts)}]"
    return "None" if hint is type(None) else str(hint.__name__)


def _formatted(text: str) -> str:
    """As ruff formats the repository."""
    argv = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", "written.py", "-"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


if __name__ == "__main__":
    for file, content in texts().items():
        file.write_text(content)
