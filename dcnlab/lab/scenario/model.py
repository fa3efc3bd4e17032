"""What may stand in a scenario file: frozen pydantic models whose fields are the keys."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dcnlab.lab.config import LabConfig, lab_options, option_types
from dcnlab.lab.scenario.expect import Expectation, read_expectation
from dcnlab.lab.scenario.values import FailureTarget, Pair, read_duration, read_name, read_pair, read_target

Name = Annotated[str, BeforeValidator(read_name)]
Duration = Annotated[float, BeforeValidator(read_duration)]
ServerPair = Annotated[Pair, BeforeValidator(read_pair)]
Target = Annotated[FailureTarget, BeforeValidator(read_target)]
Expected = Annotated[Expectation, BeforeValidator(read_expectation)]

_NEAR = 0.5


class StrictModel(BaseModel):
    """Base of all parts: a key that is not known is refused, and the nearest one offered."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value if isinstance(value, Mapping) else ():
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1, cutoff=_NEAR)
                hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
                raise PydanticCustomError("unknown_key", "unknown key: {hint}", {"key": key, "hint": hint})
        return value


def _field(option: dataclasses.Field[Any]) -> Any:
    """An option of labs as a key of ``options:``."""
    known = option.metadata
    return Field(option.default, ge=known["low"], le=known["high"], description=known["doc"])


if TYPE_CHECKING:
    Options = StrictModel
else:
    #: The options of ``dcnlab up``: a key for each field of ``LabConfig`` that is one.
    Options = create_model(
        "Options",
        __base__=StrictModel,
        __doc__="How to run the lab: the options of `dcnlab up`.",
        **{name: (option_types()[name], _field(option)) for name, option in lab_options().items()},
    )


class Action(StrictModel):
    """Base of everything that happens at a moment and leaves a result by name."""

    #: What can be expected of its result.
    figures: ClassVar[tuple[str, ...]]
    #: Its name when the file gives none.
    kind: ClassVar[str]

    at: Duration = 0.0
    name: Name | None = None

    @property
    def label(self) -> str:
        """The name of its result."""
        return self.name or self.kind


class Stream(Action):
    """Numbered packets from one server to another, to see outages."""

    figures = ("sent", "received", "lost", "outage_ms", "longest_gap_ms", "median_gap_ms")
    kind = "stream"

    stream: ServerPair
    duration: Duration = Field(alias="for")
    every: Duration = 0.001


class Throughput(Action):
    """iperf3 from one server to another: TCP, or UDP at a rate such as ``100M``."""

    figures = ("mbps", "retransmits", "lost_percent")
    kind = "iperf"

    iperf: ServerPair
    duration: Duration = Field(alias="for")
    parallel: int = Field(default=1, ge=1, le=64)
    udp: Annotated[str, Field(pattern=r"^\d+(\.\d+)?[KMG]$")] | None = None


def _read_pairs(value: object) -> object:
    return value if value in ("all", "pairs") else read_pair(value)


class Pings(Action):
    """One echo request per pair: ``all`` ordered pairs, ``pairs`` (h0 and h1, h2 and h3 ...) or one."""

    figures = ("sent", "received", "lost", "rtt_p50_ms", "rtt_p99_ms")
    kind = "ping"

    ping: Annotated[Literal["all", "pairs"] | Pair, BeforeValidator(_read_pairs)]


class PathQuery(Action):
    """The way that the scheme takes as links are known at that moment."""

    figures = ("links", "relays")
    kind = "path"

    path: ServerPair


class Event(Action):
    """A failure or its end."""

    figures = ("links", "detection_ms", "converged_ms")

    at: Duration
    fail: Target | None = None
    restore: Target | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.fail is None) == (self.restore is None):
            raise ValueError("needs either fail or restore")
        return self

    @property
    def label(self) -> str:
        return self.name or ("fail" if self.fail else "restore")

    @property
    def target(self) -> FailureTarget:
        """What fails or heals."""
        found = self.fail or self.restore
        assert found is not None
        return found


_KINDS = ("stream", "iperf", "ping", "path")


def _kind(value: Any) -> str | None:
    """The tag of the kind whose key is there; tags are written so that no key is taken for one."""
    keys = value if isinstance(value, Mapping) else ()
    return next((f"<{kind}>" for kind in _KINDS if kind in keys), None)


Traffic = Annotated[
    Annotated[Stream, Tag("<stream>")]
    | Annotated[Throughput, Tag("<iperf>")]
    | Annotated[Pings, Tag("<ping>")]
    | Annotated[PathQuery, Tag("<path>")],
    Discriminator(
        _kind, custom_error_type="kind", custom_error_message=f"needs one of the keys {', '.join(_KINDS)}"
    ),
]


class Scenario(StrictModel):
    """A whole file."""

    title: str = ""
    topology: str
    scheme: str
    #: Python files that define the topology or the scheme, relative to this file's folder.
    custom: tuple[str, ...] = ()
    options: Options = Options()
    traffic: tuple[Traffic, ...] = Field(min_length=1)
    events: tuple[Event, ...] = ()
    expect: tuple[Expected, ...] = Field(min_length=1)

    def config(self) -> LabConfig:
        """The configuration of its lab; OptionError for what no lab can have."""
        return LabConfig.of(self.topology, self.scheme, **self.given_options())

    def given_options(self) -> dict[str, Any]:
        """The options that the file gives."""
        return self.options.model_dump(exclude_unset=True)
