"""What may stand in a scenario file: frozen pydantic models whose fields are the keys."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from dcnlab.lab.config import LabConfig, lab_options, option_types
from dcnlab.lab.scenario.action import Event, StrictModel
from dcnlab.lab.scenario.expect import Expectation, read_expectation
from dcnlab.lab.scenario.traffic import Traffic

Expected = Annotated[Expectation, BeforeValidator(read_expectation)]


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
