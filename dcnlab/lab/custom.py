"""Files of the user that define topologies, schemes, measurements, ...: ``--custom FILE.py``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from addressing import registry as schemes
from dcnlab.lab import measurement, operations
from hostagent import registry as protocols
from topos import plugins
from topos import registry as topologies
from topos.plugins import Registry
from topos.spec import SpecError


def registries() -> tuple[Registry[Any], ...]:
    """What such a file can add to."""
    return topologies.known(), schemes.known(), protocols.known(), measurement.known(), operations.known()


def load(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Load the files in this process; processes of a lab and of a comparison then load them as well.

    SpecError with one line: the file, the line and what is wrong.
    """
    for path in paths:
        plugins.load([path])
        defined = [registry.defined_in(path) for registry in registries()]
        if not any(defined):
            raise SpecError(
                f"{path} defines no topology, scheme, agent protocol, measurement or operation:"
                " it needs a subclass of Family, Scheme, AgentProtocol, Measurement or Operation with a name"
            )
