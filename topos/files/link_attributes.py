"""What files of other programs state of a link, in our words; and what of it nobody uses.

Ours are ``delay`` and ``jitter`` (milliseconds), ``rate`` (Mbit/s), ``queue`` (frames before a link with a
rate), ``loss``, ``duplicate``, ``reorder`` and ``corrupt`` (percent), and ``mtu`` (bytes), as numbers or with a
unit (:mod:`dcnlab.lab.options.link_shape`).  Others are read where
their meaning and their unit are clear: Mininet's ``bw``, ``latency``, the Topology Zoo's ``LinkSpeed``, and
``bandwidth``, ``capacity`` or ``speed`` with a unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Attributes = Mapping[str, Any]

#: Our attributes, which labs impose.
OURS = ("delay", "jitter", "loss", "rate", "queue", "duplicate", "reorder", "corrupt", "mtu")
#: What files call the cost of a link, in the order in which it is looked for.
COSTS = ("weight", "cost", "metric")
#: What files call the length of a link, in metres without a unit; `dcnlab cost` uses it.
LENGTH = "length"
#: Attributes that say which link it is, and those of Mininet's that repeat its ends.
STRUCTURE = frozenset(
    {
        "a",
        "a_port",
        "b",
        "b_port",
        "source",
        "target",
        "key",
        "id",
        "number",
        "node1",
        "node2",
        "port1",
        "port2",
    }
)
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTkmgt]?)(?:bps|bits?(?:/s)?|b/s)")
_OUR_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTkmgt]?)bit")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|km)")
_OUR_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)")
_TIME = re.compile(r"\d+(?:\.\d+)?\s*(?:us|ms|s)")
_POWERS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: How the Topology Zoo calls the unit of a link's speed.
_ZOO_UNIT = "LinkSpeedUnits"


def mapped(links: Sequence[Attributes]) -> tuple[tuple[Attributes, ...], tuple[str, ...]]:
    """The attributes of each link, in our words where there are such, and lines about those of others."""
    all_kept, read, unused = [], dict[str, str](), dict[str, None]()
    for link in links:
        given = {key: value for key, value in link.items() if key not in STRUCTURE}
        kept = dict(given)
        for key, value in given.items():
            ours = _ours(key, value, given)
            if ours and ours[0] not in given:
                kept.setdefault(*ours)
                del kept[key]
                read[key] = ours[0]
            elif key == _ZOO_UNIT and _speed(given) is not None:
                del kept[key]
                read[key] = "rate"
            elif key not in OURS and value is not None:
                unused[key] = None
        all_kept.append(kept)
    return tuple(all_kept), tuple(_lines(read, unused))


def _lines(read: Mapping[str, str], unused: Iterable[str]) -> Iterable[str]:
    units = {"rate": "rate", "delay": "delay, in ms without a unit", "queue": "queue, in frames"}
    for ours in sorted(set(read.values())):
        yield f"{_named(key for key in read if read[key] == ours)} read as {units[ours]}"
    others = [name for name in unused if name not in (*COSTS, LENGTH)]
    if costs := [name for name in unused if name in COSTS]:
        yield f"{_named(costs)} used by the scheme weighted only"
    if LENGTH in unused:
        yield f"{_named([LENGTH])} used by cost only, in m without a unit"
    if others:
        yield f"{_named(others)} not used"


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    return f"link attribute{'s' * (len(listed) > 1)} {', '.join(listed)} {'are' if len(listed) > 1 else 'is'}"


def _ours(key: str, value: object, given: Attributes) -> tuple[str, str] | None:
    """Our name and value of another program's attribute; None where meaning or unit is not clear."""
    known = _OTHERS.get(key.lower())
    return known(value, given) if known else None


def _bandwidth(value: object, _: Attributes) -> tuple[str, str] | None:
    """Mininet's: megabits a second."""
    number = _number(value)
    return _capacity(value, _) if number is None else _rate(number * 1e6)


def _capacity(value: object, _: Attributes) -> tuple[str, str] | None:
    """A rate with a unit; a number may be anything."""
    match = _RATE.fullmatch(str(value).strip())
    return _rate(float(match[1]) * _POWERS[match[2].upper()]) if match else None


def _latency(value: object, _: Attributes) -> tuple[str, str] | None:
    number = _number(value)
    if number is not None:
        return "delay", f"{_text(number)}ms"
    text = str(value).strip()
    return ("delay", text.replace(" ", "")) if _TIME.fullmatch(text) else None


def _queue(value: object, _: Attributes) -> tuple[str, str] | None:
    """Mininet's: packets."""
    number = _number(value)
    return ("queue", str(int(number))) if number and number == int(number) else None


def _zoo_speed(_: object, given: Attributes) -> tuple[str, str] | None:
    speed = _speed(given)
    return None if speed is None else _rate(speed)


def _speed(given: Attributes) -> float | None:
    """The speed of a link of the Topology Zoo, in bit/s."""
    raw, number = _number(given.get("LinkSpeedRaw")), _number(given.get("LinkSpeed"))
    if raw is not None:
        return raw
    power = _POWERS.get(str(given.get(_ZOO_UNIT)).upper())
    return None if number is None or power is None else number * power


_OTHERS: dict[str, Callable[[object, Attributes], tuple[str, str] | None]] = {
    "bw": _bandwidth,
    "bandwidth": _capacity,
    "capacity": _capacity,
    "speed": _capacity,
    "latency": _latency,
    "max_queue_size": _queue,
    "linkspeed": _zoo_speed,
    "linkspeedraw": _zoo_speed,
}


def _rate(bits: float) -> tuple[str, str]:
    unit = next((unit for unit in "GMK" if bits >= _POWERS[unit]), "")
    return "rate", f"{_text(bits / _POWERS[unit])}{unit}bit"


def _text(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _number(value: object) -> float | None:
    """A number, also as text; None for anything else, and below 0."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def milliseconds(delay: object) -> float | None:
    """A ``delay``, a number in milliseconds or a text such as ``20us``, in milliseconds; else None."""
    if (number := _number(delay)) is not None:
        return number
    match = _OUR_TIME.fullmatch(str(delay).strip())
    return float(match[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[match[2]] if match else None


def metres(length: object) -> float | None:
    """A ``length``, a number in metres or a text such as ``2.5km``, in metres; else None."""
    if (number := _number(length)) is not None:
        return number
    match = _LENGTH.fullmatch(str(length).strip())
    return float(match[1]) * {"m": 1.0, "km": 1e3}[match[2]] if match else None


def bits_per_second(rate: object) -> float | None:
    """A ``rate``, a number in Mbit/s or a text such as ``10Mbit``, in bits per second; else None."""
    if (number := _number(rate)) is not None:
        return number * 1e6
    match = _OUR_RATE.fullmatch(str(rate).strip())
    return float(match[1]) * _POWERS[match[2].upper()] if match else None
