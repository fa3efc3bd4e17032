"""Virtual channels: which of a link's buffers a packet waits in.

``escape``     the first for the scheme's own next hops, the second for escape routes (CLOT, section 7.2)
``one``        a single one: packets can wait for each other for ever
``datelines``  on a torus the first while a packet has the wraparound link of a ring ahead, else the second
               (Dally and Seitz, 1987, section 3)
``0,1,0,...``  one per destination: the numbers of servers 0, 1, 2 ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from addressing.algorithms.grid import Grid
from topos.fabric import Fabric

#: The most of a link: larger numbers have other meanings in frames.
MOST = 60
#: The names, and how many virtual channels each stands for.
NAMED = {"escape": 2, "one": 1, "datelines": 2}
#: (server, next server, destination) -> the number of the virtual channel.
Choice = Callable[[int, int, int], int]


class FlowControlError(ValueError):
    """Relays of that scheme and fabric cannot have such buffers; one line for the user."""


@dataclass(frozen=True)
class VirtualChannels:
    """``count`` per link; ``choose`` says which of them a packet takes that leaves by the scheme's next hops.

    Where packets ``escape``, those without a credit there take the second one.
    """

    count: int
    escape: bool
    choose: Choice


def count(text: str) -> int:
    """How many virtual channels ``text`` stands for; FlowControlError with one line if it cannot be read."""
    if text in NAMED:
        return NAMED[text]
    return max(_by_destination(text)) + 1


def read(text: str, fabric: Fabric) -> VirtualChannels:
    """The virtual channels that ``text`` names; FlowControlError with one line where there are none such."""
    if text in ("escape", "one"):
        return VirtualChannels(NAMED[text], text == "escape", lambda at, following, to: 0)
    if text == "datelines":
        return VirtualChannels(NAMED[text], False, _datelines(fabric))
    numbers = _by_destination(text)
    if len(numbers) != fabric.servers:
        raise FlowControlError(
            f"{fabric.spec} has {fabric.servers} servers, not {len(numbers)}: state a virtual channel for each"
        )
    return VirtualChannels(max(numbers) + 1, False, lambda at, following, to: numbers[to])


def _by_destination(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < 3 and int(word) < MOST for word in words):
        raise FlowControlError(
            f"virtual channels: cannot read {text!r}: write {', '.join(NAMED)}, or a number below {MOST} for"
            " each destination, such as 0,1,0"
        )
    return tuple(map(int, words))


def _datelines(fabric: Fabric) -> Choice:
    if not (Grid.fits(fabric.family) and fabric.family.grid_wraps) or fabric.size > fabric.servers:
        raise FlowControlError(f"{fabric.spec} has no datelines: it is no torus of servers without switches")
    grid = Grid.of(fabric)

    def choose(at: int, following: int, to: int) -> int:
        here, there, goal = grid.coordinates(at), grid.coordinates(following), grid.coordinates(to)
        dimension = next(d for d, (a, b) in enumerate(zip(here, there, strict=True)) if a != b)
        mine, wanted = here[dimension], goal[dimension]
        rises = (there[dimension] - mine) % grid.sizes[dimension] == 1
        return int(mine < wanted if rises else mine > wanted)

    return choose
