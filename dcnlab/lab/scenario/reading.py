"""A YAML file into a checked scenario; what is wrong is one line with file, line and key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from dcnlab.lab import custom
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.emulation.links.shaping import check_kernel
from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.options import images
from dcnlab.lab.scenario import check
from dcnlab.lab.scenario.check import Location
from dcnlab.lab.scenario.model import Scenario
from topos.files import limits
from topos.spec import SpecError


def read(path: Path) -> Scenario:
    """The scenario in a file; UsageError with one line when it cannot be read or makes no sense."""
    return _checked(_Source(str(path), _parse(path)), path.parent)


def document(path: Path) -> Mapping[str, Any]:
    """What a file says, unchecked; UsageError when it cannot be read."""
    return _parse(path)


def is_sweep(path: Path) -> bool:
    """Whether a file states values that vary, or repetitions."""
    value = document(path)
    return bool(value.get("matrix")) or value.get("repeat", 1) != 1


def from_values(values: Mapping[str, Any], folder: Path = Path()) -> Scenario:
    """The scenario of Python values, of the form that a file has; UsageError names the key that is wrong.

    Files that it names are relative to ``folder``.
    """
    return _checked(_Source("", values), folder)


def _checked(source: _Source, folder: Path) -> Scenario:
    try:
        custom.load(folder / str(file) for file in source.custom_files())
    except SpecError as error:
        raise source.error_at(("custom",), str(error)) from None
    try:
        scenario = _relative_to(folder, Scenario.model_validate(source.document))
    except ValidationError as error:
        raise source.error_at(*_explain(error.errors()[0])) from None
    try:
        config = scenario.config()
        bound = config.validate()
        check_kernel(config.shape)
    except OptionError as error:
        top = error.option in ("topology", "scheme")
        raise source.error_at((error.option,) if top else ("options", error.option), str(error)) from None
    for place, impairment in check.impairments(scenario):
        try:
            check_kernel(impairment.shape())
        except OptionError as error:
            raise source.error_at((*place, error.option), str(error)) from None
    for location, text in check.problems(scenario, bound.fabric):
        raise source.error_at(location, text)
    return scenario


@dataclass(frozen=True)
class _Source:
    """A file and its document, which remembers the lines of its keys and items."""

    path: str
    document: Mapping[str, Any]

    def error_at(self, location: Location, text: str) -> UsageError:
        """The error about a place in the file."""
        line, where = self._find(location)
        place = f"{self.path}:{line}: " if self.path else ""
        return UsageError(f"{place}{where}{': ' if where else ''}{text}")

    def custom_files(self) -> list[object]:
        """The files under ``custom:``, which may define kinds of traffic; the model checks their form later."""
        files = self.document.get("custom")
        return list(files) if isinstance(files, list | tuple) else []

    def _find(self, location: Location) -> tuple[int, str]:
        """The line (from 1) of the innermost part of a location that the file has, and its name as
        ``traffic[2].probe``; parts that only pydantic knows (a union's tags) are left out."""
        node: Any = self.document
        line, name = 1, ""
        for part in location:
            if inside := _option_inside(node, part):
                node, name = node[inside], f"{name}.{inside}"
            if isinstance(node, Mapping) and part in node:
                name = f"{name}.{part}" if name else str(part)
                line = _line(node, part, line)
            elif isinstance(node, list | tuple) and isinstance(part, int):
                name = f"{name}[{part}]"
                line = _line(node, part, line)
            else:
                continue
            node = node[part]
        return line, name


def _line(node: object, part: Any, before: int) -> int:
    """The line (from 1) of a key or an item; ``before`` for what was not read from a file."""
    if not isinstance(node, CommentedMap | CommentedSeq) or part not in (node.lc.data or ()):
        return before
    return int(node.lc.data[part][0]) + 1


def _relative_to(folder: Path, scenario: Scenario) -> Scenario:
    """The scenario with the files that it names as seen from this process; those that are not in its folder
    remain as they are: samples, modules, or an error that the checks report."""

    def seen(name: str) -> str:
        return str(folder / name) if name and os.path.isfile(folder / name) else name

    given, changed = scenario.given_options(), {}
    if choice := given.get("controller", ""):
        kind, colon, names = choice.partition(":")
        if kind in ("app", "app-only"):
            changed["controller"] = kind + colon + ",".join(seen(name.strip()) for name in names.split(","))
    for key in ("controller_ca", "controller_cert", "controller_key"):
        if key in given:
            changed[key] = seen(given[key])
    if choice := given.get("image", ""):
        changed["image"] = images.relative_to(choice, str(folder))
    kind, colon, rest = scenario.topology.partition(":")
    path, comma, more = rest.partition(",")
    topology = f"{kind}{colon}{seen(path)}{comma}{more}" if kind == "file" else scenario.topology
    update: JsonObject = {"topology": topology}
    if changed:
        update["options"] = scenario.options.model_copy(update=changed)
    if scenario.traffic:
        update["traffic"] = tuple(entry.with_files(seen) for entry in scenario.traffic)
    if scenario.services:
        update["services"] = tuple(one.relative_to(folder) for one in scenario.services)
    return scenario.model_copy(update=update)


def _option_inside(node: Any, part: str | int) -> str:
    """The key of the entry whose options stand in it as a mapping, as in `flows: {sizes: websearch}`."""
    if not isinstance(node, Mapping) or part in node:
        return ""
    return next((key for key, value in node.items() if isinstance(value, Mapping) and part in value), "")


def _parse(path: Path) -> CommentedMap:
    try:
        document = YAML().load(limits.read_yaml(path, limits.SCENARIO))
        limits.check_values(document)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: {(error.problem or 'no YAML').splitlines()[0]}") from None
    except limits.LimitError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: it is nested too deeply") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(document, CommentedMap):
        raise UsageError(f"{path}:1: a scenario is a mapping that begins with topology: and scheme:")
    return document


def _explain(error: ErrorDetails) -> tuple[Location, str]:
    """Where an error is, and half a sentence."""
    location, context = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            return location[:-1], f"{location[-1]} is missing"
        case "unknown_key":
            return (*location, context["key"]), error["msg"]
        case "kind" | "missing_traffic":
            return location, error["msg"]
        case "too_short":
            return location, "must not be empty"
        case "value_error":
            return location, str(context["error"])
    text = _PLAIN.get(error["type"]) or error["msg"].removeprefix("Input ")
    return location, f"{text[:1].lower()}{text[1:]}, not {_brief(error['input'])}"


#: pydantic's errors in the words of YAML.
_PLAIN = {
    "tuple_type": "must be a list",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "string_type": "must be text",
    "mapping": "must be a mapping such as `ping: all`",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}


def _brief(value: object, longest: int = 40) -> str:
    match value:
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}..."
