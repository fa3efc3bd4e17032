"""How the kernel imposes a link's shape: lines for ``tc``, and a program that loses packets.

With netem all of a shape is netem's, except a rate that stood when the lab was launched, which is htb's.
Without netem the rate is htb's, and a program loses packets (:mod:`dcnlab.lab.emulation.links.loss`) where that
is allowed.  All else is imposed by a process (:mod:`dcnlab.lab.emulation.links.delays`).  A change
alters what is there, so that packets that wait are not lost.  Only the first one at an interface may lose what
is sent in that moment: the kernel stops an interface to attach a queueing discipline, clsact included.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from dcnlab.lab.emulation.links import delays, loss
from dcnlab.lab.emulation.machine.kernel import has_qdisc
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.link_shape import Shape, in_units

#: Bytes of the largest frame, and of a frame that returns credits.
_FULL, _SMALL = 1514, 64
#: Packets that wait in netem: for a rate, and where they wait for their delay as well.
_QUEUE, _DELAY_QUEUE = 1000, 10000
#: A class of htb whose link has no rate any more.
_UNLIMITED = "100Gbit"
#: What :func:`imposed_by` calls the process of :mod:`dcnlab.lab.emulation.links.delays`.
DELAY_LINE = "delay line"


class Disciplines(enum.Enum):
    """The queueing disciplines of an interface."""

    NONE = enum.auto()
    HTB = enum.auto()
    HTB_AND_NETEM = enum.auto()
    NETEM = enum.auto()


def has_netem() -> bool:
    """Whether this kernel has netem."""
    return has_qdisc("netem", "delay", "1ms")


def check_kernel(shape: Shape) -> None:
    """Raise OptionError, in one line, for what this kernel cannot impose."""
    given = shape.given()
    if shape.rate and not has_qdisc("htb"):
        raise OptionError("rate", "this kernel has no htb, so rate cannot be imposed: modprobe sch_htb")
    if not given.keys() - {"rate"} or has_netem():
        return
    by, problem = imposed_by(shape), delays.problem()
    missing = [name for name in given if problem and by[name] == DELAY_LINE]
    if missing:
        what = " and ".join(missing)
        hint = "load it (modprobe sch_netem), run in the VM of vagrant/, or leave it out"
        raise OptionError(
            missing[0], f"this kernel has no netem, so {what} cannot be imposed ({problem}): {hint}"
        )


def imposed_by(shape: Shape) -> dict[str, str]:
    """What imposes each impairment of a shape that is set while a lab runs: ``netem``; without it ``htb``,
    ``eBPF`` or ``delay line``."""
    if has_netem():
        return dict.fromkeys(shape.given(), "netem")
    names = {"rate": "htb"} if loss.problem() else {"rate": "htb", "loss": "eBPF"}
    return {name: names.get(name, DELAY_LINE) for name in shape.given()}


def waiting(shape: Shape) -> dict[str, float]:
    """What the delay line does to packets of this shape: seconds, and shares; empty where it does nothing."""
    by = imposed_by(shape)
    return {name: in_units(value) for name, value in shape.given().items() if by[name] == DELAY_LINE}


def launch_lines(shape: Shape, interface: str) -> tuple[list[str], Disciplines]:
    """The lines for ``tc -batch`` that shape what an interface without disciplines sends, and those
    that it has then."""
    lines = []
    netem = has_netem() and any(name != "rate" for name in shape.given())
    if shape.rate:
        lines.append(f"qdisc add dev {interface} root handle 1: htb default 1")
        lines.append(f"class add dev {interface} parent 1: classid 1:1 htb rate {shape.rate}")
    parent = "parent 1:1" if shape.rate else "root"
    if shape.rate and shape.queue and not netem:
        lines.append(f"qdisc add dev {interface} {parent} bfifo limit {shape.queue * (_FULL + _SMALL)}")
    if netem:
        lines.append(f"qdisc add dev {interface} {parent} netem {_netem(shape, rate=False)}")
        return lines, Disciplines.HTB_AND_NETEM if shape.rate else Disciplines.NETEM
    return lines, Disciplines.HTB if shape.rate else Disciplines.NONE


def change_lines(shape: Shape, interface: str, now: Disciplines) -> tuple[list[str], Disciplines]:
    """The lines that give an interface another shape, and the disciplines that it has then."""
    if now is Disciplines.NONE and not has_netem():
        return launch_lines(shape, interface)
    if now is Disciplines.NONE:
        if not shape:
            return [], now
        return [f"qdisc add dev {interface} root netem {_netem(shape, rate=True)}"], Disciplines.NETEM
    if now is Disciplines.NETEM:
        return [f"qdisc change dev {interface} root netem {_all_of_netem(shape, rate=True)}"], now
    rate = shape.rate or _UNLIMITED
    lines = [f"class change dev {interface} parent 1: classid 1:1 htb rate {rate}"]
    if now is Disciplines.HTB_AND_NETEM:
        lines.append(f"qdisc change dev {interface} parent 1:1 netem {_all_of_netem(shape, rate=False)}")
    elif has_netem() and shape.given().keys() - {"rate"}:
        lines.append(f"qdisc replace dev {interface} parent 1:1 netem {_netem(shape, rate=False)}")
        now = Disciplines.HTB_AND_NETEM
    return lines, now


def _netem(shape: Shape, *, rate: bool) -> str:
    """State a shape in netem's words."""
    return " ".join(_words(shape, rate))


def _all_of_netem(shape: Shape, *, rate: bool) -> str:
    """State all of a shape in netem's words, for a change: netem keeps what is not named."""
    zeros = [*([] if shape.corrupt else ["corrupt 0%"]), *(["rate 0bit"] if rate and not shape.rate else [])]
    return " ".join([*_words(shape, rate), *zeros])


def _words(shape: Shape, rate: bool) -> Iterator[str]:
    yield f"limit {_QUEUE if rate and shape.rate and not shape.delay else _DELAY_QUEUE}"
    if shape.delay:
        yield f"delay {shape.delay}{f' {shape.jitter}' if shape.jitter else ''}"
    for name in ("loss", "duplicate", "reorder", "corrupt"):
        if value := getattr(shape, name):
            yield f"{name} {value}"
    if rate and shape.rate:
        yield f"rate {shape.rate}"
