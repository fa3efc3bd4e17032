"""What links impose on packets: delay, jitter, loss, bandwidth and errors, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dcnlab.lab.errors import OptionError

_TIME, _SHARE = re.compile(r"\d+(\.\d+)?(us|ms|s)"), re.compile(r"\d+(\.\d+)?%")
_NUMBER = re.compile(r"[\d.]+")
_ZERO = re.compile(r"0+(\.0+)?(us|ms|s|%|[KMG]?bit)?", re.IGNORECASE)
_RATE = re.compile(r"\d+(\.\d+)?[KMG]?bit", re.IGNORECASE)
#: How each impairment is written, with an example.
_FORMS = {
    "delay": (_TIME, "1ms"),
    "jitter": (_TIME, "0.2ms"),
    "loss": (_SHARE, "0.1%"),
    "rate": (_RATE, "100Mbit"),
    "duplicate": (_SHARE, "1%"),
    "reorder": (_SHARE, "1%"),
    "corrupt": (_SHARE, "0.1%"),
}
#: A direction of a link: its number, and the node that sends.
Direction = tuple[int, int]
#: The names of all impairments of a link.
IMPAIRMENTS = tuple(_FORMS)
#: What the units of times and shares stand for.
_SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01}
#: In the place of a value: the impairment ends.
NONE = "none"


@dataclass(frozen=True)
class Shape:
    """Impairments of one direction of a link; empty: not imposed."""

    #: One-way delay in tc's syntax: ``1ms``.
    delay: str = ""
    #: Share of packets lost: ``0.1%``.
    loss: str = ""
    #: Bandwidth: ``100Mbit``.
    rate: str = ""
    #: Queue length before a link with a rate, in full frames; 0: the kernel's default.  The queue
    #: has room for as many credit frames, which are small, as well.
    queue: int = 0
    #: By how much the delay varies: ``0.2ms``.
    jitter: str = ""
    #: Share of packets that arrive twice, that overtake delayed ones, and with a wrong bit.
    duplicate: str = ""
    reorder: str = ""
    corrupt: str = ""

    def __bool__(self) -> bool:
        """Whether anything is imposed."""
        return bool(self.given())

    def given(self) -> dict[str, str]:
        """What is imposed, by name."""
        return {name: value for name in IMPAIRMENTS if (value := getattr(self, name))}

    def changed(self, values: Mapping[str, str]) -> Self:
        """Return the shape with other values; ``none``, or 0 but for a rate, ends an impairment.

        Raises OptionError for wrong values."""
        for name in values:
            if name not in _FORMS:
                raise OptionError(name, f"there is no impairment {name}: there are {', '.join(_FORMS)}")
        wanted: dict[str, Any] = {name: "" if _ends(name, value) else value for name, value in values.items()}
        new = replace(self, **wanted)
        new.check()
        return new

    def check(self) -> None:
        """Raise OptionError, in one line, for a value that tc would not accept."""
        if _ZERO.fullmatch(self.rate):
            text = "a rate of 0 would drop all packets: `none` removes a limit, `dcnlab fail` fails a link"
            raise OptionError("rate", text)
        for name, value in self.given().items():
            pattern, example = _FORMS[name]
            if not pattern.fullmatch(value):
                raise OptionError(name, f"{name} must be written as in {example}, not {value!r}")
            if pattern is _SHARE and float(value.rstrip("%")) > 100:
                raise OptionError(name, f"{name} is at most 100%, not {value}")
        for name in ("jitter", "reorder"):
            if getattr(self, name) and not self.delay:
                raise OptionError(name, f"{name} needs a delay: packets that do not wait arrive in order")


def _ends(name: str, value: str) -> bool:
    """Whether a value ends an impairment: ``none``, or zero of all but the rate, in any unit or in none."""
    return value == NONE or (name != "rate" and bool(_ZERO.fullmatch(value)))


#: What a number stands for that has no unit, in the attributes of a graph's links.
_UNITS = {"delay": "ms", "jitter": "ms", "rate": "Mbit"}


def of_attributes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The impairments among the attributes of a link in a graph.

    Numbers are milliseconds, megabits a second and percent; 0 is none.
    """
    return {
        name: text for name in IMPAIRMENTS if (text := _with_unit(attributes.get(name), _UNITS.get(name, "%")))
    }


def queue_of(attributes: Mapping[str, Any]) -> int:
    """The frames that wait before a link with a rate, among its attributes in a graph; 0: it states none."""
    text = str(attributes.get("queue") or 0).strip()
    if not text.isdecimal():
        raise OptionError("topology", f"queue is a number of frames, not {text!r}")
    return int(text)


def _with_unit(value: Any, unit: str) -> str:
    if value is None:
        return ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value).strip()
    text = f"{number:.6f}".rstrip("0").rstrip(".")
    return f"{text}{unit}" if number else ""


def in_units(value: str) -> float:
    """Return the number that a checked value stands for, a time in seconds or a share; 0 for an empty one."""
    unit = value.lstrip("0123456789.")
    return float(value.removesuffix(unit)) * _SCALES.get(unit, 1.0) if value else 0.0


def bits_per_second(rate: str) -> float:
    """The number that a rate stands for; OptionError, in one line, for a wrong one."""
    Shape(rate=rate).check()
    unit = rate[-4].upper() if rate[-4].isalpha() else ""
    return float(_NUMBER.findall(rate)[0]) * {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}[unit]
