"""The base of everything that happens at a moment of a scenario, and the failures."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dcnlab.lab.scenario.values import FailureTarget, read_duration, read_name, read_target

Name = Annotated[str, BeforeValidator(read_name)]
Duration = Annotated[float, BeforeValidator(read_duration)]
Target = Annotated[FailureTarget, BeforeValidator(read_target)]

#: The similarity from which on a known key is suggested for an unknown one.
_NEAR = 0.5


class StrictModel(BaseModel):
    """Base of all parts: it refuses unknown keys and suggests the most similar one."""

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
    def result_name(self) -> str:
        """The name of the result."""
        return self.name or self.kind


class Event(Action):
    """A failure, or its end."""

    at: Duration = Field(description="When it happens, after the end of the launch.")
    fail: Target | None = Field(None, description="Take down a link, or all links of a node.")
    restore: Target | None = Field(None, description="Bring a failed link or node back; instead of `fail`.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.fail is None) == (self.restore is None):
            raise ValueError("needs either fail or restore")
        return self

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("links", "detection_ms", "converged_ms")

    @property
    def result_name(self) -> str:
        return self.name or ("fail" if self.fail else "restore")

    @property
    def target(self) -> FailureTarget:
        """What fails or is restored."""
        target = self.fail or self.restore
        assert target is not None
        return target
