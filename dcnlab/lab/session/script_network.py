"""What a Mininet script asks for when it makes its own ``Mininet(...)`` in a lab: it holds, or is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from dcnlab.lab.emulation.mininet import LabNet
from dcnlab.lab.emulation.mininet_nodes import shape_of
from dcnlab.lab.errors import LabError

#: How Mininet names what its ``custom`` makes of a class.
_CUSTOM = re.compile(r"custom\(<class '(?:\w+\.)*(\w+)'>")
#: The classes that the lab's own nodes and links stand in for, and what to use instead of others.
_CLASSES = {
    "host": ({"Host"}, "hosts of a lab are its own, without shares of processors: use `net`"),
    "switch": (
        {"OVSSwitch", "OVSKernelSwitch", "OVSBridge"},
        "switches of a lab are its own Open vSwitch, and links stay where they are",
    ),
    "controller": (
        {"Controller", "DefaultController", "OVSController", "NullController", "findController"},
        "use `dcnlab up --controller`",
    ),
    "link": ({"Link", "OVSLink", "TCLink", "TCULink"}, "use `dcnlab up --rate`, `--delay` and `--loss`"),
    "intf": ({"Intf", "TCIntf"}, "use `dcnlab up --rate`, `--delay` and `--loss`"),
}


def accept(net: LabNet, topo: Any = None, words: Mapping[str, Any] | None = None) -> None:
    """Impose what the links of a script's topology ask for; LabError for what a lab cannot have."""
    given = dict(words or {})
    common = _link_values(given)
    for word, (known, instead) in _CLASSES.items():
        name = _class_name(given.get(word))
        if name and name not in known:
            raise LabError(f"{word}={name} has no effect in a lab: {instead}")
    if topo is not None:
        _compare(net, topo)
        for a, b, values in topo.links(withInfo=True):
            for link in net.linksBetween(net[a], net[b]):
                link.impose(shape_of({**common, **values}))


def _link_values(given: dict[str, Any]) -> dict[str, Any]:
    """The values that all links get: those of ``link=partial(TCLink, bw=10)``."""
    link = given.get("link")
    if not isinstance(link, partial):
        return {}
    given["link"] = link.func
    return link.keywords


def _class_name(given: Any) -> str:
    """Return the name of a class, or of what Mininet's ``custom`` or ``partial`` made of it; empty for none."""
    if given is None:
        return ""
    name = str(getattr(given, "__name__", "") or getattr(getattr(given, "func", given), "__name__", given))
    made = _CUSTOM.match(name)
    return f"custom({made[1]})" if made else name


def _compare(net: LabNet, topo: Any) -> None:
    """Raise LabError unless a topology has the nodes and links of the lab."""
    for kind, wanted, nodes in (
        ("hosts", topo.hosts(), net.hosts),
        ("switches", topo.switches(), net.switches),
    ):
        here = sorted(node.name for node in nodes)
        if sorted(wanted) != here:
            _refuse(net, f"{len(wanted)} {kind} ({_some(sorted(wanted))}), not {len(here)} ({_some(here)})")
    wanted = Counter(frozenset(ends) for ends in topo.links())
    links = Counter(frozenset((link.intf1.node.name, link.intf2.node.name)) for link in net.links)
    if differing := (wanted - links) or (links - wanted):
        _refuse(net, f"other links, such as {' - '.join(sorted(next(iter(differing))))}")


def _refuse(net: LabNet, difference: str) -> None:
    raise LabError(
        f"the network is {net.given}, and the script's topology has {difference}: use `net`, or Mininet()"
        " without topo; Lab(topo.convertTo(networkx.MultiGraph)) in Python runs a topology of your own"
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
