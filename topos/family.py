"""Base of all families: a family is a frozen dataclass whose fields are its parameters.

    @dataclass(frozen=True)
    class Ring(Family):
        '''ring:n -- n servers in a ring.'''
        name: ClassVar[str] = "ring"
        example: ClassVar[str] = "ring:5"
        n: int = param("servers", low=3)

        def counts(self): return self.n, 0
        def link_ends(self): ...

The registry finds such a class in ``topos/families``, in ``--custom`` files and in installed
packages; nothing else is edited.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from topos import fields
from topos.errors import ParameterError as ParameterError
from topos.graph import IntArray

#: Who forwards: servers (BCube), only switches (fat tree), or either of them by the
#: parameter ``hosts`` (plain graphs).
Centric = Literal["server", "switch", "symmetric"]


#: Node and link numbers are 32-bit; this leaves room for their products with small factors.
MAX_NODES = 2**28


def param(
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    default: Any = dataclasses.MISSING,
    positional: bool = False,
) -> Any:
    """Declare a parameter: a dataclass field with its meaning and its inclusive range or its choices.

    ``positional``: it has a default, but is written by position in the canonical specification.

    Keyword-only fields (after ``_: KW_ONLY``) are written as ``key=value`` after the positional ones;
    base classes declare shared parameters that way.
    """
    return fields.declare(doc, default=default, low=low, high=high, choices=choices, positional=positional)


def check_range(owner: str, items: tuple[dataclasses.Field[Any], ...], values: object) -> None:
    """Raise ParameterError for the first field of ``values`` outside its declared range or choices."""
    for item in items:
        if text := fields.problem(item.metadata, getattr(values, item.name)):
            raise ParameterError(f"{owner}: {item.name} {text}")


@dataclass(frozen=True)
class Family(ABC):
    """Base of all families; the docstring of this module shows a subclass."""

    #: The name in a specification, before the colon.
    name: ClassVar[str]
    #: A small instance that `dcnlab list` shows and the lab tests launch.
    example: ClassVar[str]
    centric: ClassVar[Centric]
    #: Where the topology is defined: paper and section.
    source: ClassVar[str]
    #: What :meth:`part_numbers` are, in the singular: "pod", "cluster".
    part_name: ClassVar[str] = "part"
    #: Whether drawings of many nodes bundle the links between two parts.
    bundles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_range(self.name, dataclasses.fields(self), self)
        self.check()
        if sum(self.counts()) > MAX_NODES:
            raise ParameterError(f"{self.spec} has more than {MAX_NODES} nodes: more than can be numbered")

    def check(self) -> None:
        """Raise ParameterError for combinations of parameters that define no network."""
        return

    @classmethod
    def instances(cls, most: int) -> Iterator[Family] | None:
        """Instances with at most that many servers, among which a size is chosen; others may exist.  None:
        those of :func:`topos.instances.instances`, which varies the parameters without a default."""
        return None

    @classmethod
    def of_equipment(cls, switches: int, ports: int, servers: int) -> Family | None:
        """The instance that joins that many switches of that many ports and that many servers, where the family
        takes any such equipment; None elsewhere."""
        return None

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """(servers, switches) in closed form: called before anything is built."""

    @abstractmethod
    def link_ends(self) -> IntArray:
        """All links: an int32 array of rows ``(a, a_port, b, b_port)``, ports from 1."""

    @property
    def torus_radices(self) -> tuple[int, ...]:
        """The radix of each dimension where the servers have the coordinates of a torus; else empty."""
        return ()

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        """The size of each dimension where the vertices lie on a torus or a mesh, in row-major order
        (servers, or switches that all have hosts); else empty."""
        return ()

    @property
    def grid_wraps(self) -> bool:
        """True when the grid is a torus, False for a mesh."""
        return True

    def label(self, node: int) -> str:
        """The coordinates of a node as text; its number by default."""
        return str(node)

    @property
    def title(self) -> str:
        """What messages call the network."""
        return self.spec

    #: Whether labels of nodes are names that somebody has given them.
    named: ClassVar[bool] = False

    def node_names(self) -> Mapping[int, str]:
        """Names that nodes have of their own, short enough for interfaces; others are ``h3`` and ``s0``."""
        return {}

    def routers(self) -> Collection[int]:
        """The nodes that a file calls routers: they forward where programs route (scheme ``none``)."""
        return ()

    def locate(self, text: str) -> int | None:
        """The node whose ``label`` is ``text``; None if there is none.

        The default searches the labels of up to 100,000 nodes.
        """
        servers, switches = self.counts()
        if servers + switches > 100_000:
            return None
        return next((v for v in range(servers + switches) if self.label(v) == text), None)

    def layout(self) -> NDArray[np.float64] | None:
        """A row (x, y) per node, as the paper's figures draw it (helpers: :mod:`topos.constructions.layout`);
        None: nodes are placed by their distances."""
        return None

    @property
    def map_scale(self) -> tuple[float, float] | None:
        """Where :meth:`layout` is a map: what a degree of longitude and one of latitude are in it, and its
        point for longitude and latitude 0 is (0, 0).  None: nodes are no places on Earth."""
        return None

    @property
    def layout_caption(self) -> str:
        """What :meth:`layout` shows, as one sentence below the drawing."""
        return "Nodes that few links separate are drawn near each other."

    def wraps(self, ends: IntArray) -> NDArray[np.bool_]:
        """Which links (rows of two nodes) lead around the drawing and are better drawn as two stubs."""
        return np.zeros(len(ends), dtype=np.bool_)

    def part_numbers(self) -> NDArray[np.int64] | None:
        """Per node, the number of the part of the structure that it belongs to, such as its pod or its
        cluster; -1 for nodes outside all parts.  Drawings give each part a colour, and above some size bundle
        the links between two parts.  None: the family has no parts."""
        return None

    def part_words(self, part: int) -> str:
        """What the nodes of a part have in common, in a few words."""
        return f"{self.part_name} {part}"

    def notes(self) -> Sequence[str]:
        """Lines about what a file states that is not used, or not as it is written."""
        return ()

    def link_attributes(self) -> Sequence[Mapping[str, Any]]:
        """Further attributes of each link, such as its length, by link number; may be empty."""
        return ()

    @property
    def spec(self) -> str:
        """The canonical specification: parameters without a default by position, then ``key=value`` for
        those that differ from their default."""
        positional, named = [], []
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if item.default is dataclasses.MISSING or (item.metadata.get("positional") and value is not None):
                positional.append(format_value(value))
            elif value != item.default:
                named.append(f"{item.name}={format_value(value)}")
        return self.name + (":" + ",".join(positional + named) if positional or named else "")


def format_value(value: object) -> str:
    """A parameter value as specifications write it: ``4x4`` for tuples."""
    if isinstance(value, tuple):
        return "x".join(str(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
