"""Price and power of networks, from a replaceable list of unit prices.

The comparison is the DCube paper's, at 2048 to 12,288 servers: DCube of 256 switches with as
many ports as needed; BCube and HCN of 8-port switches, and DCell of 8-port (2048 servers) or 16-port
switches, incomplete at the highest level where the size requires it; a fat tree of 8-port switches
with as many levels as needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PositiveInt, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from topos.family import Family
from topos.files.link_attributes import LENGTH, metres
from topos.registry import parse
from topos.spec import SpecError

#: The sizes of the paper's comparison.
SIZES = (2048, 4096, 8192, 12288)


#: Bounded, so that no sum overflows.
Amount = Annotated[float, Field(ge=0, le=1e12)]


class Unit(BaseModel):
    """Price (dollars) and power (watts) of one item."""

    model_config = ConfigDict(extra="forbid")
    price: Amount
    watts: Amount


class Cable(Unit):
    """Price of a cable, and power; ``metre`` is the price of each metre where lengths are stated."""

    metre: Amount = 0


class Prices(BaseModel):
    """Unit prices: switches and NICs by number of ports.  ``cards`` is an old name of ``nics``."""

    model_config = ConfigDict(extra="forbid")
    switches: Mapping[PositiveInt, Unit]
    nics: Mapping[PositiveInt, Unit] = Field(validation_alias=AliasChoices("nics", "cards"))
    cable: Cable = Cable(price=0, watts=0)

    def switch(self, ports: int) -> tuple[int, Unit]:
        """The smallest switch with at least ``ports`` ports: (its ports, its price).

        If all are smaller: as many of the largest as a folded Clos network of two levels takes, which blocks
        nothing.  Raises SpecError for more ports than that has, and where no switch is listed.
        """
        size = min((size for size in self.switches if size >= ports), default=None)
        if size is not None:
            return size, self.switches[size]
        largest = max(self.switches, default=0)
        if ports > largest * (largest // 2):
            raise SpecError(f"prices: no switch with {ports} ports: the largest has {largest}")
        leaves, spines = -(-ports // (largest // 2)), -(-ports // largest)
        unit, count = self.switches[largest], leaves + spines
        # Not validated: the sum of several may exceed the bound of one price.
        return ports, Unit.model_construct(price=count * unit.price, watts=count * unit.watts)

    def nic(self, ports: int) -> Unit:
        """The smallest NIC with at least ``ports`` ports.

        If all are smaller: as many of the largest as fit, and the smallest that covers the rest.
        """
        if not self.nics:
            raise SpecError("prices: no NIC is listed")
        largest = max(self.nics)
        whole, rest = divmod(ports, largest)
        if not rest:
            whole, rest = whole - 1, largest
        last, many = self.nics[min(size for size in self.nics if size >= rest)], self.nics[largest]
        # Not validated: the sum of several may exceed the bound of one price.
        return Unit.model_construct(
            price=whole * many.price + last.price, watts=whole * many.watts + last.watts
        )


def read_prices(path: Path | None = None) -> Prices:
    """Read a YAML price list (default: the DCube paper's); raises SpecError with one line."""
    name = str(path or "prices.yaml")
    try:
        text = path.read_text() if path else (resources.files("dcnlab.evaluator") / "prices.yaml").read_text()
        return Prices.model_validate(YAML(typ="safe").load(text))
    except OSError as error:
        raise SpecError(f"{name}: {error.strerror}") from error
    except YAMLError as error:
        raise SpecError(f"{name}: not YAML: {str(error).splitlines()[0]}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise SpecError(f"{name}: {where or 'the whole file'}: {first['msg']}") from error


@dataclass(frozen=True)
class Design:
    """The parts of a network: ``switch_ports`` is the number of ports in use on the largest switch, ``metres``
    the sum of the lengths of links that are stated."""

    name: str
    servers: int
    switches: int
    switch_ports: int
    server_ports: int
    cables: int
    metres: float = 0.0


def design(family: Family, name: str = "", server_ports: int | None = None) -> Design:
    """The parts of a topology; ``server_ports`` overrides the number of ports that its servers use."""
    servers, switches = family.counts()
    cables = family.link_ends()
    nodes, ports = cables[:, [0, 2]].ravel(), cables[:, [1, 3]].ravel()
    at_switch = nodes >= servers
    most = int(ports[at_switch].max(initial=0))
    used = int(np.bincount(nodes[~at_switch], minlength=1).max()) if servers else 0
    lengths = sum(metres(link.get(LENGTH)) or 0.0 for link in family.link_attributes())
    return Design(name or family.spec, servers, switches, most, server_ports or used, len(cables), lengths)


@dataclass(frozen=True)
class Bill:
    """Price and power of a design; ``switch_size`` is the number of ports of the switches bought."""

    design: Design
    switch_size: int
    switch_price: float
    nic_price: float
    cable_price: float
    watts: float

    @property
    def price(self) -> float:
        """The total price."""
        return self.switch_price + self.nic_price + self.cable_price

    def as_dict(self) -> dict[str, Any]:
        """All figures as JSON."""
        return {
            **asdict(self.design),
            "switch_size": self.switch_size,
            "switch_price": self.switch_price,
            "nic_price": self.nic_price,
            "cable_price": self.cable_price,
            "price": self.price,
            "watts": self.watts,
        }


def bill(what: Design, prices: Prices) -> Bill:
    """Price and power of a design; raises SpecError for a part without a price."""
    size, switch = prices.switch(what.switch_ports) if what.switches else (0, Unit(price=0, watts=0))
    nic, cable = prices.nic(what.server_ports), prices.cable
    watts = what.switches * switch.watts + what.servers * nic.watts + what.cables * cable.watts
    cables = what.cables * cable.price + what.metres * cable.metre
    return Bill(what, size, what.switches * switch.price, what.servers * nic.price, cables, watts)


# --- the paper's comparison -----------------------------------------------------------


def comparison(servers: int) -> Iterator[Design]:
    """The paper's networks of about ``servers`` servers; raises SpecError for unsupported sizes."""
    yield design(parse(_dcube(servers)))
    yield design(parse(_bcube(servers)))
    yield design(parse(_dcell(servers)))
    hcn = parse(_hcn(servers))
    yield design(hcn)
    yield design(hcn, f"{hcn.spec}, 4-port NICs", server_ports=4)
    yield fat_tree(servers)


def _dcube(servers: int) -> str:
    """DCube of 256 switches (m = 8) with n = servers / 256 ports."""
    n = servers // 256
    if servers % 256 or n % 8:
        raise SpecError(f"servers: DCube(n, n/8) has a multiple of 2048 servers, not {servers}")
    return f"hdcube:{n},{n // 8}"


def _parts(family: str, servers: int) -> str:
    """BCube or HCN of 8-port switches, incomplete at the highest level."""
    k = 0
    while 8 ** (k + 1) < servers:
        k += 1
    parts, left = divmod(servers, 8**k)
    if left:
        raise SpecError(f"servers: {servers} is not a whole number of {family}(8, {k - 1})")
    return f"{family}:8,{k}" + (f",parts={parts}" if parts < 8 else "")


def _bcube(servers: int) -> str:
    return _parts("bcube", servers)


def _hcn(servers: int) -> str:
    return _parts("hcn", servers)


def _dcell(servers: int) -> str:
    """The paper's partial DCell_2: 28 DCell_1(8) at 2048 servers, above of DCell_1(16), 15 at 4096."""
    n = 8 if servers <= 2048 else 16
    below = n * (n + 1)
    parts = servers // below
    if parts > below + 1:
        raise SpecError(f"servers: no DCell({n}, 2) has {servers}")
    return f"dcell:{n},2,parts={parts}"


def fat_tree(servers: int, ports: int = 8) -> Design:
    """A folded Clos network of ``ports``-port switches with L levels, for up to 2 (ports/2)^L servers.

    It has (2L - 1) / ports switches and L cables per server.
    """
    levels = 1
    while 2 * (ports // 2) ** levels < servers:
        levels += 1
    switches = -(-servers * (2 * levels - 1) // ports)
    return Design(f"fat tree, {levels} levels", servers, switches, ports, 1, servers * levels)
