"""The entries under ``traffic:``: a kind for every registered measurement, made from its arguments.

The kind's key names the servers (``iperf: h0 -> h15``), the other keys are the measurement's options, and
``for:`` is its ``seconds``.  Times are written as durations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import Field as Argument
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from dcnlab.lab import measurement
from dcnlab.lab.contract import fields as arguments
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.scenario.action import Action, Duration, nearest


class Targets(JsonObject):
    """The arguments that the value of an entry's key stands for, and the value as it was written."""

    def __init__(self, kind: type[Measurement[Any]], written: object) -> None:
        super().__init__(kind.targets(written))
        self.written = written


class TrafficAction(Action):
    """A measurement that begins at a moment.

    Its fields are ``targets`` and ``option_NAME``.
    """

    measurement: ClassVar[type[Measurement[Any]]]

    targets: Any

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        names: tuple[str, ...] = cls.measurement.result().figures()
        return names

    @property
    def wanted(self) -> Measurement[Any]:
        """The measurement; one that can be stopped goes on until :attr:`end`."""
        options = {item.name: getattr(self, f"option_{item.name}") for item in _options(self.measurement)}
        if self.measurement.stoppable:
            options["seconds"] = None
        return self.measurement(**{**options, **self.targets})

    @property
    def end(self) -> float | None:
        """When the scenario stops the measurement; None when it ends by itself."""
        return self.at + float(getattr(self, "option_seconds")) if self.measurement.stoppable else None  # noqa: B009

    @property
    def servers(self) -> list[str]:
        """The names of the servers that take part, as the file gives them."""
        values = [self.targets.get(item.name, ()) for item in arguments.servers(self.measurement)]
        return [name for value in values for name in ([value] if isinstance(value, str) else value)]

    def with_files(self, seen: Callable[[str], str]) -> Self:
        """The entry with each file that it names replaced by what ``seen`` makes of it."""
        changed: JsonObject = {}
        for item in arguments.options(self.measurement):
            if item.metadata["file"] and item.metadata["target"]:
                targets = copy(self.targets)
                targets[item.name] = seen(targets[item.name])
                changed["targets"] = targets
            elif item.metadata["file"]:
                changed[f"option_{item.name}"] = seen(getattr(self, f"option_{item.name}"))
        return self.model_copy(update=changed) if changed else self

    @property
    def about(self) -> str:
        """The targets as the file writes them."""
        return " -> ".join(
            value if isinstance(value, str) else " ".join(value) for value in self.targets.values()
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.wanted.check()
        except UsageError as error:
            raise ValueError(str(error)) from error
        return self


def kinds() -> list[str]:
    """The keys of which an entry has one: measurements whose results have figures."""
    return list(entries())


def entries() -> dict[str, type[Measurement[Any]]]:
    """The measurements by the key of their entry."""
    known = measurement.known().items()
    return {kind.entry or name: kind for name, kind in known if kind.result().figures()}


@cache
def model(kind: type[Measurement[Any]]) -> type[TrafficAction]:
    """The pydantic model of the entries of a measurement."""
    hints = get_type_hints(kind)
    options = {f"option_{item.name}": _field(kind, item, hints[item.name]) for item in _options(kind)}
    doc = "The servers." if arguments.servers(kind) else "Without a value."
    doc = "The pattern; as a mapping, with any of the options." if kind.entry else doc
    about = Field(alias=kind.entry or kind.name, description=doc, examples=[kind.targets_form()])
    targets = (Annotated[Any, *_reading_targets(kind)], about)
    made = create_model(kind.__name__, __base__=TrafficAction, __doc__=kind.__doc__, targets=targets, **options)  # type: ignore[call-overload]
    made.kind, made.measurement = kind.entry or kind.name, kind
    return made  # type: ignore[no-any-return]


def _reading_targets(kind: type[Measurement[Any]]) -> tuple[Any, ...]:
    """How the value of the entry's key is read, written and described to editors."""
    form = {"type": "string"} if arguments.servers(kind) or kind.entry else {}
    return (
        BeforeValidator(partial(Targets, kind)),
        PlainSerializer(lambda targets: targets.written, return_type=Any),
        WithJsonSchema(form),
    )


def _options(kind: type[Measurement[Any]]) -> list[Argument[Any]]:
    """The arguments that have a key of their own."""
    return [item for item in arguments.options(kind) if not item.metadata["target"]]


def _field(kind: type[Measurement[Any]], item: Argument[Any], hint: Any) -> tuple[Any, Any]:
    """An option of a measurement as a field: its type, its default and its limits."""
    limits = item.metadata
    seconds = item.name == arguments.LENGTH
    default = ... if seconds and kind.stoppable else item.default
    bounds = {} if limits["low"] is None else {"ge": limits["low"]}
    bounds |= {} if limits["high"] is None else {"le": limits["high"]}
    bounds |= {"pattern": f"^({limits['pattern']})$"} if limits["pattern"] else {}
    typed = Duration if limits["unit"] == "s" else hint
    return typed, Field(default, alias="for" if seconds else item.name, description=limits["doc"], **bounds)


def _read(value: Any) -> TrafficAction:
    """The entry whose kind's key is there."""
    known = kinds()
    if not isinstance(value, Mapping):
        raise PydanticCustomError("mapping", "must be a mapping such as `ping: all`")
    kind = next((kind for kind in known if kind in value), None)
    if kind is None:
        hints = (nearest(str(key), known) for key in value)
        hint = next((f": {hint}" for hint in hints if hint), "")
        raise PydanticCustomError(
            "kind", "needs one of the keys {keys}{hint}", {"keys": ", ".join(known), "hint": hint}
        )
    chosen = model(entries()[kind])
    own = [field.alias or name for name, field in chosen.model_fields.items()]
    if other := next((one for one in known if one in value and one not in own), None):
        text = "has {kind} and {other}: make an entry of each"
        raise PydanticCustomError("kind", text, {"kind": kind, "other": other})
    return chosen.model_validate(_flat(value, kind))


def _flat(value: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """An entry with the options that its kind's key has as a mapping beside it: `flows: {sizes: fixed:1M}`."""
    within = value[kind]
    if not entries()[kind].entry or not isinstance(within, Mapping):
        return value
    beside = {key: item for key, item in value.items() if key != kind}
    [target] = [item.name for item in arguments.options(entries()[kind]) if item.metadata["target"]]
    twice = next((key for key in beside if key in within), None)
    if twice:
        raise PydanticCustomError("kind", "{key} is given twice", {"key": twice})
    options = {key: item for key, item in within.items() if key != target}
    known = [target, *_keys_within(entries()[kind]), "at", "name"]
    if unknown := next((key for key in options if key not in known), None):
        hint = nearest(str(unknown), known) or f"known here: {', '.join(known)}"
        raise PydanticCustomError("unknown_key", "unknown key: {hint}", {"key": unknown, "hint": hint})
    return {kind: within.get(target), **options, **beside}


def _keys_within(kind: type[Measurement[Any]]) -> list[str]:
    """The keys of the options that a kind's key may have as a mapping."""
    fields = model(kind).model_fields
    return [fields[f"option_{item.name}"].alias or item.name for item in _options(kind)]


class _OneOfTheKinds:
    """The JSON Schema of an entry: that of one of the kinds."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        return {"oneOf": [_schema(name, kind) for name, kind in entries().items()]}


def _schema(name: str, kind: type[Measurement[Any]]) -> JsonObject:
    """The JSON Schema of the entries of a measurement, whose key may have the options as a mapping."""
    schema = model(kind).model_json_schema()
    if kind.entry:
        options = {key: item for key, item in schema["properties"].items() if key not in (name, "at", "name")}
        pattern = next(item.name for item in arguments.options(kind) if item.metadata["target"])
        options[pattern] = {"type": "string"}
        within = {"type": "object", "properties": options, "required": [pattern], "additionalProperties": False}
        schema["properties"][name] = {**schema["properties"][name], "type": ["string", "object"]} | {
            "if": {"type": "object"},
            "then": within,
        }
    return schema


def _written(action: TrafficAction) -> JsonObject:
    """The entry by the model of its kind."""
    return action.model_dump()


Traffic = Annotated[TrafficAction, PlainValidator(_read), PlainSerializer(_written), _OneOfTheKinds()]
