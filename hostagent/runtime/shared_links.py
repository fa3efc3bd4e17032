"""The lab's link state in memory that the processes of all agents share.

The supervisor writes it once.  An agent compares a number whenever it wakes, and reads the state before it
handles another packet.  So a change reaches all agents at once, and wakes none: in a lab of a thousand agents
each would first have to copy a megabyte of memory that it shares with its parent.
"""

from __future__ import annotations

import mmap
import zlib
from array import array

from topos.graph import LinkState

#: 32-bit cells of a slot before the links: a checksum, and how many links follow.
_HEAD = 2
_MASK = 0xFFFFFFFF


class SharedLinkState:
    """The links that are down.  Create it before the processes are forked; only one of them may write."""

    def __init__(self, links: int) -> None:
        """For a fabric of so many links."""
        self._links, self._slot = links, _HEAD + links
        memory = mmap.mmap(-1, 4 * (1 + 2 * self._slot))
        #: The first cell is the epoch, which grows by one with every write; :attr:`epoch` for the event loop.
        self.cells = memoryview(memory).cast("I")

    @property
    def epoch(self) -> int:
        """The number of writes so far."""
        return self.cells[0]

    def write(self, state: LinkState) -> None:
        """Replace the state; numbers of links that the fabric does not have are left out."""
        epoch = self.epoch + 1 & _MASK
        links = array("I", sorted(link for link in state.down if link < self._links))
        at = self._place(epoch)
        self.cells[at] = zlib.crc32(links)
        self.cells[at + 1] = len(links)
        self.cells[at + _HEAD : at + _HEAD + len(links)] = memoryview(links)
        self.cells[0] = epoch

    def read(self) -> tuple[int, LinkState]:
        """The epoch and its state."""
        while True:
            epoch = self.epoch
            at = self._place(epoch)
            checksum, count = self.cells[at], self.cells[at + 1]
            links = self.cells[at + _HEAD : at + _HEAD + count].tolist()
            # Written again meanwhile, or (not on x86) the epoch arrived before the rest.
            if epoch == self.epoch and checksum == zlib.crc32(array("I", links)):
                return epoch, LinkState(frozenset(links))

    def _place(self, epoch: int) -> int:
        """Where the slot of an epoch begins: two take turns, so that the one in use is not overwritten."""
        return 1 + epoch % 2 * self._slot
