"""Delay, loss and bandwidth of links by the kernel's queueing disciplines."""

from __future__ import annotations

from collections.abc import Iterable

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.kernel import has_qdisc
from dcnlab.lab.errors import OptionError
from dcnlab.lab.link_shape import Shape


def check_kernel(shape: Shape) -> None:
    """Raise OptionError, in one line, for a shape that needs a missing queueing discipline."""
    if (shape.delay or shape.loss) and not has_qdisc("netem", "delay", "1ms"):
        options = [name for name, value in (("delay", shape.delay), ("loss", shape.loss)) if value]
        raise OptionError(
            options[0],
            f"this kernel has no netem, so {' and '.join(options)} cannot be imposed: load it"
            " (modprobe sch_netem), run in the VM of vagrant/, or leave it out",
        )
    if shape.rate and not has_qdisc("htb"):
        raise OptionError("rate", "this kernel has no htb, so rate cannot be imposed: modprobe sch_htb")


def impose(shape: Shape, interfaces: Iterable[tuple[str, str]]) -> None:
    """Shape the packets that (namespace, interface) pairs send."""
    by_namespace: dict[str, list[str]] = {}
    for name, interface in interfaces:
        by_namespace.setdefault(name, []).extend(shape.commands(interface))
    for name, lines in by_namespace.items():
        netns.batch(["tc", "-n", name], lines)
