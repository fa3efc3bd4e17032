"""Delay, loss and bandwidth of links, as values and as lines for ``tc``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dcnlab.lab.errors import OptionError

_DELAY = re.compile(r"\d+(\.\d+)?(us|ms|s)")
_LOSS = re.compile(r"\d+(\.\d+)?%")
_NUMBER = re.compile(r"[\d.]+")
_RATE = re.compile(r"\d+(\.\d+)?[KMG]?bit", re.IGNORECASE)

#: Bytes of the largest frame, and of a frame that returns credits.
_FULL, _SMALL = 1514, 64


@dataclass(frozen=True)
class Shape:
    """Delay, loss and bandwidth of every link, per direction; empty: not imposed."""

    #: One-way delay in tc's syntax: ``1ms``.
    delay: str = ""
    #: Share of packets lost: ``0.1%``.
    loss: str = ""
    #: Bandwidth: ``100Mbit``.
    rate: str = ""
    #: Queue length before a link with a rate, in full frames; 0: the kernel's default.  The queue
    #: has room for as many credit frames, which are small, as well.
    queue: int = 0

    def __bool__(self) -> bool:
        """Whether anything is imposed."""
        return bool(self.delay or self.loss or self.rate)

    def check(self) -> None:
        """Raise OptionError, in one line, for a value that tc would not accept."""
        for name, value, pattern, example in (
            ("delay", self.delay, _DELAY, "1ms"),
            ("loss", self.loss, _LOSS, "0.1%"),
            ("rate", self.rate, _RATE, "100Mbit"),
        ):
            if value and not pattern.fullmatch(value):
                raise OptionError(name, f"{name} must be written as in {example}, not {value!r}")
        if self.rate and not float(_NUMBER.findall(self.rate)[0]):
            raise OptionError("rate", "a rate of 0 would drop all packets: to fail a link use `dcnlab fail`")
        if self.loss and float(self.loss.rstrip("%")) > 100:
            raise OptionError("loss", f"loss is at most 100%, not {self.loss}")

    def commands(self, interface: str) -> list[str]:
        """The lines for ``tc -batch`` that shape packets sent by ``interface``."""
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
