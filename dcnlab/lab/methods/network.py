"""Links of a lab, for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcnlab.lab.methods.asking import Asking
from dcnlab.lab.sampling import Sampling

if TYPE_CHECKING:
    from dcnlab.lab.contract.network import ImpairedLink
    from dcnlab.lab.measurement.counters import CountersResult


class NetworkOperations(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that impairs links and samples their counters."""

    def impair(self, *names: str, clear: bool = False, sender: str = "", **values: str) -> list[ImpairedLink]:
        """Impair the link between two nodes, all links of one, or without names all links; as they are then.

        ``values`` are ``delay="5ms"``, ``jitter``, ``loss="1%"``, ``rate="50Mbit"``, ``duplicate``,
        ``reorder`` and ``corrupt``.  Those not given stay; "none" ends one; ``clear`` returns to the values of
        the launch.  Names may be patterns: ``lab.impair("h*", "s4", loss="1%")``.  With ``sender="h0"`` only
        what h0 sends is impaired.  UsageError for what this kernel cannot impose.
        """
        from dcnlab.lab.operations.fail import kind_of
        from dcnlab.lab.operations.impair import Impair

        return self.perform(Impair(kind_of(names) if names else "all", names, values, sender, clear)).links

    def impairments(self) -> list[ImpairedLink]:
        """The links that have impairments now."""
        from dcnlab.lab.operations.impair import Impair

        return self.perform(Impair()).links

    def sample(self, every: float = 0.1) -> Sampling:
        """Read the counters of all links every so many seconds, while a ``with`` block runs.

        ``frame()`` of what this returns is a pandas frame of bytes and rates over time.
        """
        return Sampling(self._counters, every)

    def _counters(self) -> CountersResult:
        from dcnlab.lab.measurement.counters import Counters, CountersResult
        from dcnlab.lab.operations.measure import Measure

        return CountersResult.from_json(self.perform(Measure(Counters.name)))
