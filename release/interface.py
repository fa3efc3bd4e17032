"""``python -m release.interface``: write the parts of the Python interface that follow from other code.

    dcnlab/lab/operations/measurements.py  a typed method of ``Lab`` for each measurement
    dcnlab/lab/operations/arguments.py     the options of ``Lab(...)`` for type checkers and editors

They are files, because type checkers and editors read files; a test compares them with what this prints.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
import textwrap
import types
import typing
from pathlib import Path
from typing import Any, Literal, get_type_hints

from dcnlab.lab import measurement
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.options.config import lab_options, option_types

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "dcnlab" / "lab" / "operations"
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
from dcnlab.lab.operations.measuring import MeasuringClient

if TYPE_CHECKING:
{imports}

class MeasurementOperations(MeasuringClient):
    """The part of :class:`dcnlab.lab.client.Lab` that measures.  ``progress`` hears how far it is."""
{methods}'''

_METHOD = '''
    def {name}({parameters}) -> {result}:
        """{doc}"""
        from {module} import {kind}

        return self.measure({kind}({values}), progress)
'''

_ARGUMENTS = '''\
"""The options of ``Lab(...)`` for type checkers and editors.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import Literal, TypedDict


class LabArguments(TypedDict, total=False):
    """The options of ``dcnlab up``, as keyword arguments; their defaults are those of ``LabConfig``."""
{fields}'''


def texts() -> dict[Path, str]:
    """The files and what they should contain."""
    made = {FOLDER / "measurements.py": measurements(), FOLDER / "arguments.py": arguments()}
    return {path: _formatted(text) for path, text in made.items()}


def arguments() -> str:
    """The options as a ``TypedDict``."""
    fields = (
        f"\n{_comment(field.metadata['doc'])}\n    {name}: {_written(option_types()[name])}"
        for name, field in lab_options().items()
    )
    return _ARGUMENTS.format(fields="".join(fields) + "\n")


def _comment(doc: str) -> str:
    """A help text as a comment."""
    lines = textwrap.wrap(
        doc, _WIDTH, initial_indent="    #: ", subsequent_indent="    #: ", break_on_hyphens=False
    )
    return "\n".join(lines)


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
    words = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", "written.py", "-"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


if __name__ == "__main__":
    for file, content in texts().items():
        file.write_text(content)
