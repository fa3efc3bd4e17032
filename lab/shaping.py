"""Delay, loss and bandwidth of every link, by the kernel's queueing disciplines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lab import netns
from lab.doctor import has_qdisc
from lab.errors import UsageError

_DELAY = re.compile(r"\d+(\.\d+)?(us|ms|s)")
_LOSS = re.compile(r"\d+(\.\d+)?%")
_NUMBER = re.compile(r"[\d.]+")
_RATE = re.compile(r"\d+(\.\d+)?[KMG]?bit", re.IGNORECASE)

#: Bytes of the largest frame, and of one that returns credits.
_FULL, _SMALL = 1514, 64


@dataclass(frozen=True)
class Shape:
    """What every link does to packets, in each direction; empty where nothing is asked."""

    #: One way, as tc writes it: ``1ms``.
    delay: str = ""
    #: Of packets: ``0.1%``.
    loss: str = ""
    #: ``100Mbit``.
    rate: str = ""
    #: Full frames that wait for a link of that rate, 0: the kernel's default.  As many frames that
    #: return credits, which are small, fit as well.
    queue: int = 0

    def __bool__(self) -> bool:
        """True when anything is asked for."""
        return bool(self.delay or self.loss or self.rate)

    def check(self) -> None:
        """UsageError, in one line, for values that are none or that this kernel cannot impose."""
        for name, value, pattern, example in (
            ("delay", self.delay, _DELAY, "1ms"),
            ("loss", self.loss, _LOSS, "0.1%"),
            ("rate", self.rate, _RATE, "100Mbit"),
        ):
            if value and not pattern.fullmatch(value):
                raise UsageError(f"{name} must be written as in {example}, not {value!r}")
        if self.rate and not float(_NUMBER.findall(self.rate)[0]):
            raise UsageError("a rate of 0 lets nothing through: cut links with `dcnlab fail`")
        if self.loss and float(self.loss.rstrip("%")) > 100:
            raise UsageError(f"loss is at most 100%, not {self.loss}")
        if (self.delay or self.loss) and not has_qdisc("netem", "delay", "1ms"):
            asked = " and ".join(name for name, value in (("delay", self.delay), ("loss", self.loss)) if value)
            raise UsageError(
                f"this kernel has no netem, so {asked} cannot be imposed: load it (modprobe sch_netem),"
                " run in the VM of vagrant/, or leave it out"
            )
        if self.rate and not has_qdisc("htb"):
            raise UsageError("this kernel has no htb, so rate cannot be imposed: modprobe sch_htb")

    def commands(self, interface: str) -> list[str]:
        """The lines for ``tc -batch`` that shape what leaves by ``interface``."""
        lines, parent = [], "root"
        if self.rate:
            lines.append(f"qdisc add dev {interface} root handle 1: htb default 1")
            lines.append(f"class add dev {interface} parent 1: classid 1:1 htb rate {self.rate}")
            parent = "parent 1:1"
        impairments = " ".join(
            f"{name} {value}" for name, value in (("delay", self.delay), ("loss", self.loss)) if value
        )
        if parent != "root" and self.queue and not impairments:
            lines.append(f"qdisc add dev {interface} {parent} bfifo limit {self.queue * (_FULL + _SMALL)}")
        if impairments:
            lines.append(f"qdisc add dev {interface} {parent} netem limit 10000 {impairments}")
        return lines


def impose(shape: Shape, interfaces: Iterable[tuple[str, str]]) -> None:
    """Shape (namespace, interface) pairs."""
    by_namespace: dict[str, list[str]] = {}
    for name, interface in interfaces:
        by_namespace.setdefault(name, []).extend(shape.commands(interface))
    for name, lines in by_namespace.items():
        netns.batch(["tc", "-n", name], lines)
