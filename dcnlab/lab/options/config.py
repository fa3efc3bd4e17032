"""The configuration of a lab: made from what a user wrote, checked, and read by its processes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self, get_type_hints

from addressing import registry as schemes
from addressing import unrouted
from addressing.scheme import Scheme
from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.options import multipath, values
from dcnlab.lab.options.checks import CHECKS
from dcnlab.lab.options.stated import StatedOptions
from hostagent.options import Options
from topos import plugins
from topos import registry as topologies
from topos.fabric import Fabric
from topos.family import Family, ParameterError, check_range
from topos.spec import SpecError


@dataclass(frozen=True)
class LabConfig(StatedOptions):
    """A lab: topology, scheme, name and options; :meth:`of` makes one from what a user wrote."""

    @classmethod
    def of(cls, topology: str, scheme: str, name: str = "", **options: Any) -> LabConfig:
        """The configuration that a user asks for; OptionError for unknown options and wrong values."""
        known = lab_options()
        for key, value in (("topology", topology), ("scheme", scheme), ("name", name)):
            if not isinstance(value, str):
                raise OptionError(key, f"{key} must be text, not {value!r}")
        for key, value in options.items():
            if key not in known:
                raise OptionError(key, f"there is no option {key}: {values.hint(key, known)}")
            if not values.accepts(option_types()[key], value):
                raise OptionError(key, f"{key} must be {values.describe(option_types()[key])}, not {value!r}")
        config = cls(topology, scheme, name, **options)
        for key in options:
            try:
                check_range("lab", (known[key],), config)
            except ParameterError as error:
                raise OptionError(key, str(error)) from error
        if config.multipath:
            source = options.get("link_state", "agents")
            scheme = multipath.with_paths(scheme, config.multipath)
            return replace(config, scheme=scheme, link_state=source)
        return config

    def chosen(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        usual = type(self)(self.topology, self.scheme, self.name)
        return [item.name for item in fields(self) if getattr(self, item.name) != getattr(usual, item.name)]

    def agent_options(self) -> Options:
        """What the agents' parent is started with."""
        shared = {f.name: getattr(self, f.name) for f in fields(Options)}
        return Options(**{**shared, "buffers": self.frames})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Make one from a JSON object; unknown keys are ignored.  Load the files that ``custom`` names."""
        plugins.load(value.get("custom", ()))
        return super().from_json(value)

    def check_words(self) -> None:
        """Raise OptionError for a topology, a scheme or values of links that cannot be.

        No network is built for it: that takes long, and memory, for large ones."""
        try:
            named = topologies.parse(self.topology)
        except SpecError as error:
            raise OptionError("topology", str(error)) from error
        try:
            if not self.routed:
                schemes.check(self.scheme, named)
        except SpecError as error:
            raise OptionError("scheme", str(error)) from error
        self.shape.check()

    def validate(self) -> Scheme:
        """The bound scheme; OptionError, in one line, for everything that no machine could run.

        What depends on this machine is checked by :mod:`dcnlab.lab.emulation.requirements`.
        """
        try:
            fabric = topologies.fabric(self.topology)
        except SpecError as error:
            raise OptionError("topology", str(error)) from error
        try:
            scheme = _bind(self.scheme, fabric)
        except SpecError as error:
            raise OptionError("scheme", str(error)) from error
        for check in CHECKS:
            check(self, scheme)
        _try_own(scheme)
        self.shapes(scheme.fabric)
        self.mtus(scheme.fabric)
        return scheme

    def note(self) -> str:
        """One line about a lab that is less than what was asked for; empty otherwise."""
        lines = (
            [self.choice().nobodys_job(topologies.fabric(self.topology).relaying)]
            if self.controller != "ours" and not self.routed
            else []
        )
        if self.multipath:
            lines.append(multipath.shortage(resolve(self.topology, self.scheme)[1], self.multipath))
        return "; ".join(filter(None, lines))


# --- options as the command line and scenario files need them -------------------------


@functools.cache
def lab_options() -> Mapping[str, dataclasses.Field[Any]]:
    """The options of a lab by name: fields whose metadata hold ``doc``, ``low`` and ``high``."""
    return {f.name: f for f in fields(LabConfig) if "doc" in f.metadata}


@functools.cache
def option_types() -> Mapping[str, Any]:
    """The type of each option: str, int, bool, a Literal, or one of them or None."""
    hints = get_type_hints(LabConfig)
    return {name: hints[name] for name in lab_options()}


def _try_own(scheme: Scheme) -> None:
    """Raise OptionError, with file and line, for a user's scheme that fails, or whose packets go nowhere."""
    if isinstance(scheme, unrouted.Unrouted) or schemes.known().is_builtin(scheme.name):
        return
    from addressing import trial

    try:
        schemes.known().check(type(scheme), trial.problem(scheme), "rule", "next_hops", "transit_next_hops")
    except SpecError as error:
        raise OptionError("scheme", str(error)) from error
    except Exception as error:
        raise OptionError("scheme", plugins.described(error)) from error


# --- specifications ---------------------------------------------------------------------


def family(topology: str) -> Family:
    """The family instance that a specification names, not built yet; UsageError with one line."""
    try:
        return topologies.parse(topology)
    except SpecError as error:
        raise UsageError(str(error)) from error


def _bind(scheme: str, fabric: Fabric) -> Scheme:
    return unrouted.bind(scheme, fabric) if unrouted.is_named(scheme) else schemes.bind(scheme, fabric)


def resolve(topology: str, scheme: str) -> tuple[Fabric, Scheme]:
    """The fabric and the scheme that two specifications name; UsageError with one line."""
    try:
        fabric = topologies.fabric(topology)
        bound = _bind(scheme, fabric)
        return bound.fabric, bound
    except SpecError as error:
        raise UsageError(str(error)) from error
