"""The base of everything that happens at a moment of a scenario, and the failures."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.link_shape import NONE, Shape
from dcnlab.lab.scenario.values import (
    DURATION_PATTERN,
    LINKS_PATTERN,
    NAME_PATTERN,
    PROCESS_PATTERN,
    TARGET_PATTERN,
    FailureTarget,
    read_duration,
    read_links,
    read_name,
    read_process,
    read_target,
    write_duration,
)


def text_form(pattern: str, example: str) -> WithJsonSchema:
    """The JSON Schema of a value that files write as text of this form."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Name = Annotated[str, BeforeValidator(read_name), text_form(NAME_PATTERN, "before")]
Duration = Annotated[
    float,
    BeforeValidator(read_duration),
    PlainSerializer(write_duration, when_used="unless-none"),
    text_form(DURATION_PATTERN, "1.5s"),
]
Process = Annotated[str, BeforeValidator(read_process), text_form(PROCESS_PATTERN, "controller")]
Target = Annotated[
    FailureTarget,
    BeforeValidator(read_target),
    PlainSerializer(str),
    text_form(TARGET_PATTERN, "link h0 s4"),
]
Links = Annotated[
    FailureTarget,
    BeforeValidator(read_links),
    PlainSerializer(str),
    text_form(LINKS_PATTERN, "link h* s4"),
]

VERBS = ("fail", "restore", "impair", "kill", "pause", "restart", "exec")
_LINK_FIGURES = ("links", "detection_ms", "converged_ms")
_PROCESS_FIGURES = ("processes", "ms")
_PROGRAM_FIGURES = ("exit",)
#: A node and a command.
_PROGRAM = r"^[A-Za-z][A-Za-z0-9_.-]* .*[^ ].*$"
_PROCESSES = "`controller`, `agents`, `ovsdb`, a server's agent or a switch's ovs-vswitchd"

#: The similarity from which on a known key is suggested for an unknown one.
_NEAR = 0.7


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean WORD?`, or nothing where no known word is similar."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=_NEAR)
    return f"did you mean {near[0]}?" if near else ""


class StrictModel(BaseModel):
    """Base of all parts: it refuses unknown keys and suggests the most similar one."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value if isinstance(value, Mapping) else ():
            if key not in known:
                hint = (
                    nearest(str(key), [one for one in known if one not in value])
                    or f"known here: {', '.join(known)}"
                )
                raise PydanticCustomError("unknown_key", "unknown key: {hint}", {"key": key, "hint": hint})
        return value

    @model_serializer(mode="wrap")
    def _as_written(self, values: SerializerFunctionWrapHandler) -> JsonObject:
        """The keys that were given, as a file writes them: a dump is a valid file again."""
        written = values(self)
        keys = {name: field.alias or name for name, field in type(self).model_fields.items()}
        return {
            key: written[key if key in written else name]
            for name, key in keys.items()
            if name in self.model_fields_set and (key in written or name in written)
        }


class Action(StrictModel):
    """Base of everything that happens at a moment and has a result."""

    #: The name of the result unless the file gives one.
    kind: ClassVar[str]

    at: Duration = Field(0.0, description="When it begins, after the end of the launch.")
    name: Name | None = Field(None, description="Name of its result; without one, the kind.")

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        """The figures of the result."""
        return ()

    @property
    def result_figures(self) -> tuple[str, ...]:
        """The figures of this one's result."""
        return self.figures()

    @property
    def result_name(self) -> str:
        """The name of the result."""
        return self.name or self.kind


_SENDER = Field("", description="Only in the direction in which this node sends.", examples=["h0"])


class Impairment(StrictModel):
    """What links impose on packets; `none` ends an impairment."""

    delay: str = Field("", description="One-way delay, such as `5ms`.")
    jitter: str = Field("", description="By how much the delay varies, such as `1ms`.")
    loss: str = Field("", description="Share of packets that are lost, such as `1%`.")
    rate: str = Field("", description="Bandwidth, such as `50Mbit`.")
    duplicate: str = Field("", description="Share of packets that arrive twice.")
    reorder: str = Field("", description="Share of packets that overtake delayed ones.")
    corrupt: str = Field("", description="Share of packets that get a wrong bit.")

    @model_validator(mode="after")
    def _written(self) -> Self:
        ended = {name: value for name, value in self.values().items() if value != NONE}
        waiting = {} if "delay" in ended else {"delay": "1ms"}  # one may stand from before
        try:
            Shape().changed(waiting | ended)
        except OptionError as error:
            raise ValueError(str(error)) from error
        return self

    def shape(self) -> Shape:
        """What is imposed."""
        return Shape(**{name: value for name, value in self.values().items() if value != NONE})  # type: ignore[arg-type]

    def values(self) -> dict[str, str]:
        """The values that are given, by name."""
        return {name: value for name in Impairment.model_fields if (value := getattr(self, name))}


class LinkImpairment(Impairment):
    """Impairments of some links from the launch on; later entries change those of earlier ones."""

    link: Links = Field(description="Which links.", examples=["`link h* s4`, `node h3` or `all`"])
    sender: str = _SENDER


class Event(Action):
    """A failure of a link, node or process, its end, a change of links' impairments, or a command in a node."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [verb]} for verb in VERBS]})

    at: Duration = Field(description="When it happens, after the end of the launch.")
    fail: Target | None = Field(None, description="Take down a link, or all links of a node.")
    restore: Target | None = Field(None, description="Bring a failed link or node back; instead of `fail`.")
    impair: Links | None = Field(
        None, description="Change links' impairments to `to`.", examples=["`link h* s4`, `node h3` or `all`"]
    )
    to: Impairment | None = Field(
        None, description="With `impair`: the new values; without it, those of the launch."
    )
    sender: str = _SENDER
    kill: Process | None = Field(None, description=f"End {_PROCESSES}, as a crash would.")
    pause: Process | None = Field(None, description="Stop a process until it is restarted.")
    restart: Process | None = Field(None, description="End a process and start it again.")
    exec: str | None = Field(
        None,
        pattern=_PROGRAM,
        description="Run a command of a shell in a node, and wait for its end.",
        examples=["h0 ip link set h0-eth1 down"],
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, verb) is not None for verb in VERBS) != 1:
            raise ValueError(f"needs one of {', '.join(VERBS)}")
        for name in ("to", "sender"):
            if getattr(self, name) and self.impair is None:
                raise ValueError(f"`{name}` belongs to `impair`")
        return self

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return (*_LINK_FIGURES, *_PROCESS_FIGURES, *_PROGRAM_FIGURES)

    @property
    def result_figures(self) -> tuple[str, ...]:
        if self.verb == "impair":
            return _LINK_FIGURES[:1]
        if self.verb == "exec":
            return _PROGRAM_FIGURES
        return _LINK_FIGURES if self.verb in ("fail", "restore") else _PROCESS_FIGURES

    @property
    def verb(self) -> str:
        """What happens: one of :data:`VERBS`."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)

    @property
    def process(self) -> str:
        """The process that is killed, paused or restarted; empty for links and nodes."""
        return self.kill or self.pause or self.restart or ""

    @property
    def program(self) -> tuple[str, str] | None:
        """The node in which a command runs, and the command; None for other events."""
        node, _, command = (self.exec or "").partition(" ")
        return (node, command) if node else None

    @property
    def result_name(self) -> str:
        return self.name or self.verb

    @property
    def target(self) -> FailureTarget:
        """What fails, is restored or impaired."""
        target = self.fail or self.restore or self.impair
        assert target is not None
        return target
