"""Links to machines that do not answer: their ends here go down, as an interface does that loses its carrier.

A VXLAN device has no carrier of its own, so agents and switches would not notice that nobody is at the other
end, and protocols of the agents would wait for neighbours that are gone.  The ends come up when the machine
answers again, but for those that the user has cut: before, or meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.running.link_state import LinkStateTracker
from topos.graph import Link


class UnreachableLinks:
    """The links of this machine's part to machines that do not answer.

    The link state knows which ends are *held*: down for this reason only.  ``report_unseen`` reports the ends
    of links that nobody else can report.  One thread at a time may call the methods.
    """

    def __init__(
        self, running: Running, link_state: LinkStateTracker, report_unseen: Callable[[Sequence[Link]], None]
    ) -> None:
        self._running, self._link_state, self._report_unseen = running, link_state, report_unseen
        self._unreachable: frozenset[int] = frozenset()

    def follow(self, unreachable: Iterable[int]) -> frozenset[int]:
        """These links, and no others, lead to machines that do not answer: take their ends down, or bring them
        up again.  The links whose ends change; :meth:`settle` waits until it is noticed."""
        self._unreachable, held = frozenset(filter(self._nic, unreachable)), self._link_state.held
        new = sorted(self._unreachable - held)
        taken = {link for link, up in zip(new, netns.carriers(map(self._nic_of, new)), strict=True) if up}
        back = held - self._unreachable
        self._link_state.hold(held | taken)
        for link in taken | back:
            netns.set_up_in(*self._nic_of(link), link in back)
        return back | taken

    def settle(self, changed: frozenset[int]) -> None:
        """Wait until agents and switches have noticed what :meth:`follow` has changed; LabError when they do
        not."""
        back = changed - self._unreachable
        self._report_unseen([self._running.fabric.link(link) for link in sorted(changed)])
        self._link_state.await_ends(changed - back, up=False)
        self._link_state.await_ends(back, up=True)
        self._link_state.hold(self._link_state.held - back)

    def change(self, links: frozenset[int], up: bool) -> frozenset[int]:
        """The user cuts links or restores them: those whose ends change now.  A restored one that leads to a
        machine that does not answer comes up with that machine."""
        held, unreachable = self._link_state.held, links & self._unreachable
        self._link_state.hold(held | unreachable if up else held - unreachable)
        return links - unreachable if up else links

    def _nic(self, link: int) -> tuple[str, str] | None:
        """(namespace, interface) of the end here.  None for a plain host's: nothing there notices a carrier,
        and it would lose its routes."""
        ends = self._running.tunnel_ends(self._running.fabric.link(link))
        return next(
            (self._running.nic(end) for end in ends if not self._running.fabric.is_end_host(end.node)), None
        )

    def _nic_of(self, link: int) -> tuple[str, str]:
        found = self._nic(link)
        assert found is not None  # of others there is nothing to change
        return found
