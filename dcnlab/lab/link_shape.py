"""Delay, loss and bandwidth of links, as values and as lines for ``tc``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dcnlab.lab.errors import OptionError

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
        """Raise OptionError, in one line, for values that cannot be read."""
        for name, value, pattern, example in (
            ("delay", self.delay, _DELAY, "1ms"),
            ("loss", self.loss, _LOSS, "0.1%"),
            ("rate", self.rate, _RATE, "100Mbit"),
        ):
            if value and not pattern.fullmatch(value):
                raise OptionError(name, f"{name} must be written as in {example}, not {value!r}")
        if self.rate and not float(_NUMBER.findall(self.rate)[0]):
            raise OptionError("rate", "a rate of 0 lets nothing through: cut links with `dcnlab fail`")
        if self.loss and float(self.loss.rstrip("%")) > 100:
            raise OptionError("loss", f"loss is at most 100%, not {self.loss}")

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
