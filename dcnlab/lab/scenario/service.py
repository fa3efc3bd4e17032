"""The entries under ``services:``: programs that run in hosts, before the traffic or from a moment on."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.images import Image
from dcnlab.lab.program import Program, read_limits
from dcnlab.lab.scenario.action import Action, Duration, Name, StrictModel
from dcnlab.lab.services.readiness import Readiness

FIGURES = ("instances", "ready_ms", "running", "exit")
#: The end of the folder of services that state none: their scenario's, or that of their host's image.
_BY_DEFAULT = "/."
_FIGURE = re.compile(r"[a-z]\w*", re.ASCII)


def _words(value: object) -> object:
    """A list of words, or a line that is taken apart as a shell does."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


def _texts(value: object) -> object:
    """Numbers that stand among texts, as YAML reads them."""
    if isinstance(value, Mapping):
        return {key: str(one) if _is_number(one) else one for key, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(str(one) if _is_number(one) else one for one in value)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


_LIST = {"type": "array", "items": {"type": ["string", "number"]}}
_LINE: JsonObject = {"oneOf": [{"type": "string"}, _LIST]}
Words = Annotated[
    tuple[str, ...],
    BeforeValidator(_texts),
    BeforeValidator(_words),
    PlainSerializer(list),
    WithJsonSchema(_LINE),
    Field(min_length=1),
]
Names = Annotated[tuple[str, ...], BeforeValidator(_names), PlainSerializer(list), WithJsonSchema(_LINE)]
Texts = Annotated[
    dict[str, str],
    BeforeValidator(_texts),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
]


class Limits(StrictModel):
    """What a program may use at most, by cgroups."""

    cpu: str = Field("", description="Share of one processor, such as `20%`.")
    memory: str = Field("", description="Memory, such as `256M`.")

    @model_validator(mode="after")
    def _read(self) -> Self:
        self.values()
        return self

    def values(self) -> JsonObject:
        """The limits as numbers; ValueError with half a sentence."""
        try:
            return read_limits(self.cpu, self.memory)
        except UsageError as error:
            raise ValueError(str(error)) from None


class Service(Action):
    """A program that runs in hosts until the lab ends, with a log in each."""

    kind: ClassVar[str] = "service"

    at: Duration = Field(0.0, description="When it starts; without it, the traffic waits until it is ready.")
    name: Name | None = Field(
        None, description="Name of the service and its result; without one, the program's."
    )
    on: Names = Field(min_length=1, description="The hosts: names or patterns.", examples=["`h0 h3` or `h*`"])
    run: Words = Field(
        description="The program and its arguments; names of servers become their addresses.",
        examples=["list of words, or a line"],
    )
    env: Texts = Field({}, description="Variables of its environment.", examples=["keys: text"])
    cwd: str = Field("", description="Its folder, relative to this file's folder, which is the default.")
    image: str = Field(
        "",
        description="Its root file system: a folder, `oci:DIR:TAG` or `podman:NAME`; folders are relative to"
        " this file's folder. `cwd` is then a folder in it.",
    )
    after: Names = Field((), description="Services that must be ready first.", examples=["names"])
    ready: str = Field(
        "",
        description="When it is ready: a TCP port is open, its log has a text, or it has ended with a code.",
        examples=["`tcp:80`, `log:TEXT` or `exit:0`"],
    )
    within: Duration = Field(60.0, description="How long to wait until it is ready.")
    private: Names = Field(
        (), description="Folders that only this host sees.", examples=["list: `/var/log`, `/tmp`"]
    )
    limits: Limits = Field(Limits.model_validate({}), description="What it may use at most.")
    figures_of_log: Texts = Field(
        {},
        alias="figures",
        description="Figures of its result: regular expressions whose first group is a number in its log.",
        examples=["keys: expressions"],
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        Readiness.parse(self.ready)
        try:
            self.program()
            if self.image:
                Image.parse(self.image)
        except UsageError as error:
            raise ValueError(str(error)) from error
        for name, pattern in self.figures_of_log.items():
            if not _FIGURE.fullmatch(name) or name in FIGURES:
                raise ValueError(f"figures: {name} must be a new name in lower-case letters")
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"figures.{name}: not a regular expression: {error}") from None
            if not groups:
                raise ValueError(f"figures.{name}: the expression needs a group, such as ([0-9.]+)")
        return self

    @property
    def result_name(self) -> str:
        return self.name or re.sub(r"[^\w-]", "-", self.run[0].rpartition("/")[2], flags=re.ASCII)

    @property
    def result_figures(self) -> tuple[str, ...]:
        return (*FIGURES, *self.figures_of_log)

    @property
    def about(self) -> str:
        """Where it runs, for the line that announces it."""
        return " ".join(self.on)

    @property
    def timed(self) -> bool:
        """Whether it starts at a moment, and not before the traffic."""
        return "at" in self.model_fields_set

    @property
    def ends(self) -> bool:
        """Whether it is a program that ends by itself, such as a client that measures."""
        return self.ready.startswith("exit:")

    def program(self, in_image: bool = False) -> Program:
        """What runs in each host, or in each host that has an image of its own (``in_image``)."""
        limits = self.limits.values()
        folder = "" if in_image and self.cwd.endswith(_BY_DEFAULT) else self.cwd
        return Program(self.run, dict(self.env), folder, self.private, image=self.image, **limits)

    def relative_to(self, folder: Path) -> Self:
        """The service with the folders that it names as seen from this process."""
        if self.image:
            return self.model_copy(update={"image": str(Image.parse(self.image, str(folder)))})
        if self.cwd.endswith(_BY_DEFAULT):
            return self
        seen = str((folder / self.cwd).resolve())
        return self.model_copy(update={"cwd": seen if self.cwd else seen + _BY_DEFAULT})

    def hosts(self, servers: Iterable[str]) -> list[str]:
        """The servers that ``on`` names, in the order of the network; patterns may match none."""
        return [one for one in servers if any(fnmatch.fnmatchcase(one, pattern) for pattern in self.on)]

    def numbers(self, log: str) -> dict[str, float | None]:
        """The figures that the log has; the last match of each expression."""
        figures: dict[str, float | None] = {}
        for name, pattern in self.figures_of_log.items():
            matches = list(re.finditer(pattern, log, re.MULTILINE))
            try:
                # The group of an optional part may have matched nothing: that is no number.
                figures[name] = float((matches[-1][1] or "").replace(",", "")) if matches else None
            except ValueError:
                figures[name] = None
        return figures


def in_order(services: Iterable[Service]) -> Iterator[Service]:
    """Services after those that they wait for; ValueError with half a sentence where they wait in a circle."""
    waiting = list(services)
    known = {service.result_name for service in waiting}
    done: set[str] = set()
    while waiting:
        free = [one for one in waiting if all(name in done for name in one.after if name in known)]
        if not free:
            names = ", ".join(one.result_name for one in waiting)
            raise ValueError(f"the services {names} wait for each other")
        for one in free:
            yield one
            done.add(one.result_name)
            waiting.remove(one)
