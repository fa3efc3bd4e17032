"""The keys of scenario files as Markdown tables, from the models.

``python -m dcnlab.lab.scenario.reference docs/scenarios.md`` writes them between the page's marks.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from dcnlab.lab.scenario import traffic
from dcnlab.lab.scenario.action import Action
from dcnlab.lab.scenario.check import LAB, LAB_FIGURES
from dcnlab.lab.scenario.expect import OPERATORS, Expectation
from dcnlab.lab.scenario.model import Scenario
from dcnlab.lab.scenario.traffic import TrafficAction
from dcnlab.lab.scenario.values import FailureTarget, read_duration, read_name

#: How values are written: by their type, or by the function that reads them.
_FORMS: dict[object, str] = {
    FailureTarget: "`link h0 s4` or `node h3`",
    Expectation: "`NAME.FIGURE < NUMBER`",
    read_duration: "time: `3s`, `200ms`, `2min`",
    read_name: "name",
    str: "text",
    int: "integer",
    float: "number",
    bool: "`true` or `false`",
}
_MARKS = re.compile(r"(<!-- keys:.*?-->\n).*?(<!-- /keys -->)", re.DOTALL)


def markdown() -> str:
    """All keys: of the file, then of each section in it."""
    parts = [table("The file", Scenario)]
    for name, field in Scenario.model_fields.items():
        models = list(dict.fromkeys(_models(field.annotation)))
        if models == [TrafficAction]:
            parts.append(table("traffic: every entry", TrafficAction, {"targets"}))
            models = [traffic.model(traffic.entries()[kind]) for kind in traffic.kinds()]
        for model in models:
            kind = getattr(model, "kind", None)
            heading = f"{name}: {kind}" if len(models) > 1 and kind else name
            parts.append(table(heading, model, Action.model_fields if len(models) > 1 else ()))
    parts.append(f"### Figures of the lab\n\nThe result `{LAB}` has {_code(LAB_FIGURES)}.")
    parts.append(f"### Operators\n\nAn expectation compares with {_code(OPERATORS)}.")
    return "\n\n".join(parts)


def table(heading: str, model: type[BaseModel], without: Collection[str] = ()) -> str:
    """The keys of one model, and the figures of its result for ``expect``."""
    lines = [f"### {heading}", "", *_summary(model), "| key | value | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        if name in without:
            continue
        meaning = field.description or ""
        row = (f"`{field.alias or name}`", _form(field), _default(field), meaning)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
    figures = model.figures() if issubclass(model, Action) and model is not TrafficAction else ()
    return "\n".join([*lines, *(("", f"Figures: {_code(figures)}.") if figures else ())])


def _summary(model: type[BaseModel]) -> Iterator[str]:
    text = inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0]
    yield " ".join(text.split()).replace("``", "`")
    yield ""


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _form(field: FieldInfo) -> str:
    if field.examples:
        return str(field.examples[0])
    reader = next((item.func for item in field.metadata if isinstance(item, BeforeValidator)), None)
    low, high = (_bound(field, key) for key in ("ge", "le"))
    if reader is read_duration:
        return _FORMS[reader]
    limits = "".join(f" {word} {limit}" for word, limit in (("from", low), ("to", high)) if limit is not None)
    return _FORMS.get(reader, _form_of(field.annotation)) + limits


def _bound(field: FieldInfo, key: str) -> object:
    return next((getattr(item, key) for item in field.metadata if hasattr(item, key)), None)


def _form_of(annotation: Any) -> str:
    """How a value of a type is written; an optional one as if it were given."""
    arguments = get_args(annotation)
    if annotation in _FORMS:
        return _FORMS[annotation]
    if get_origin(annotation) is Annotated:
        readers = [item.func for item in arguments[1:] if isinstance(item, BeforeValidator)]
        return next((_FORMS[reader] for reader in readers if reader in _FORMS), _form_of(arguments[0]))
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if list(_models(annotation)):
        return "list of entries" if get_origin(annotation) is tuple else "keys"
    if get_origin(annotation) is tuple:
        return f"list: {_form_of(arguments[0])}"
    forms = dict.fromkeys(_form_of(inner) for inner in arguments if inner is not type(None))
    return " or ".join(forms)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == "" or value == () or isinstance(value, BaseModel):
        return ""
    if field.annotation is float:
        return f"`{value:g}s`" if _FORMS[read_duration] == _form(field) else f"`{value:g}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _code(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def rewrite(text: str) -> str:
    """A document with the tables between its marks as they are now."""
    return _MARKS.sub(lambda mark: f"{mark[1]}{markdown()}\n{mark[2]}", text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewrite(Path(name).read_text()))
