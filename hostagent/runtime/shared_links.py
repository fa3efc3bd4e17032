"""The lab's link state in memory that the processes of all agents share.

The supervisor writes it once.  An agent compares a number whenever it wakes, and reads the state before it
handles another packet.  So a change reaches all agents at once, and wakes none: in a lab of a thousand agents
each would first have to copy a megabyte of memory that it shares with its parent.  Where agents follow in an
order, the state names those that wait: they keep what they know.
"""

from __future__ import annotations

import mmap
import zlib
from array import array
from collections.abc import Iterable

from topos.graph import LinkState

#: 32-bit cells of a slot before the links: a checksum, how many links follow, and how many servers after them.
_HEAD = 3
_MASK = 0xFFFFFFFF


class SharedLinkState:
    """The links that are down.  Create it before the processes are forked; only one of them may write."""

    def __init__(self, links: int, servers: int = 0) -> None:
        """Make them for a fabric of so many links and servers."""
        self._links, self._servers, self._slot = links, servers, _HEAD + links + servers
        memory = mmap.mmap(-1, 4 * (1 + 2 * self._slot))
        #: The first cell is the epoch, which grows by one with every write; :attr:`epoch` for the event loop.
        self.cells = memoryview(memory).cast("I")

    @property
    def epoch(self) -> int:
        """The number of writes so far."""
        return self.cells[0]

    def write(self, state: LinkState, waiting: Iterable[int] = ()) -> None:
        """Replace the state; numbers of links and servers that the fabric does not have are left out."""
        epoch = self.epoch + 1 & _MASK
        links = sorted(link for link in state.down if link < self._links)
        servers = sorted(server for server in set(waiting) if server < self._servers)
        numbers = array("I", [*links, *servers])
        at = self._place(epoch)
        self.cells[at] = zlib.crc32(numbers)
        self.cells[at + 1], self.cells[at + 2] = len(links), len(servers)
        self.cells[at + _HEAD : at + _HEAD + len(numbers)] = memoryview(numbers)
        self.cells[0] = epoch

    def read(self) -> tuple[int, LinkState, frozenset[int]]:
        """The epoch, its state, and the servers whose agents wait."""
        while True:
            epoch = self.epoch
            at = self._place(epoch)
            checksum, links, servers = self.cells[at : at + _HEAD].tolist()
            numbers = self.cells[at + _HEAD : at + _HEAD + links + servers].tolist()
            # Written again meanwhile, or (not on x86) the epoch arrived before the rest.
            if epoch == self.epoch and checksum == zlib.crc32(array("I", numbers)):
                return epoch, LinkState(frozenset(numbers[:links])), frozenset(numbers[links:])

    def _place(self, epoch: int) -> int:
        """Where the slot of an epoch begins: two take turns, so that the one in use is not overwritten."""
        return 1 + epoch % 2 * self._slot
