"""What may stand in a scenario file: frozen pydantic models whose fields are the keys."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, create_model, model_validator
from pydantic_core import PydanticCustomError

from dcnlab.lab.options.config import LabConfig, lab_options, option_types
from dcnlab.lab.scenario.action import Event, LinkImpairment, Name, StrictModel, text_form
from dcnlab.lab.scenario.expect import PATTERN, Expectation, read_expectation
from dcnlab.lab.scenario.service import Service
from dcnlab.lab.scenario.traffic import Traffic

Expected = Annotated[
    Expectation,
    BeforeValidator(read_expectation),
    PlainSerializer(str),
    text_form(PATTERN, "stream.outage_ms < 500"),
]


#: The most repetitions of a run.
MOST_RUNS = 10_000
Values = Annotated[tuple[Any, ...], Field(min_length=1)]


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


class Scenario(StrictModel):
    """The keys of the file itself."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["traffic"]}, {"required": ["services"]}]}
    )

    title: str = Field("", description="One line for people.")
    name: Name | None = Field(None, description="Name of the lab while it runs.")
    topology: str = Field(
        description="Such as `bcube:4,1`; see `dcnlab list`. A `file:` is relative to this file's folder."
    )
    scheme: str = Field(description="Such as `brp`; see `dcnlab list`.")
    custom: tuple[str, ...] = Field(
        (), description="Python files with your own topologies and schemes, relative to this file's folder."
    )
    options: Options = Field(Options(), description="Options of the lab.")
    links: tuple[LinkImpairment, ...] = Field((), description="Impairments of links by pattern.")
    services: tuple[Service, ...] = Field((), description="Programs that run in hosts.")
    traffic: tuple[Traffic, ...] = Field((), description="What is measured, and when.")
    events: tuple[Event, ...] = Field((), description="Failures, and their ends.")
    expect: tuple[Expected, ...] = Field((), description="Conditions on the results.")
    matrix: dict[str, Values] = Field(
        {},
        description="Values that vary, such as `scheme: [brp, wmgr]`: one run for every combination of them.",
        examples=["keys: lists"],
    )
    repeat: int = Field(1, ge=1, le=MOST_RUNS, description="How many times each combination runs.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.traffic and not self.services:
            raise PydanticCustomError("missing_traffic", "traffic is missing", {})
        return self

    def config(self) -> LabConfig:
        """The configuration of its lab; OptionError for what no lab can have."""
        return LabConfig.of(self.topology, self.scheme, **self.given_options())

    def given_options(self) -> dict[str, Any]:
        """The options that the file gives."""
        given = self.options.model_fields_set
        return {name: getattr(self.options, name) for name in lab_options() if name in given}
