"""The servers of a lab configure themselves: the steps of that on each machine."""

from __future__ import annotations

from dcnlab.lab.autoconfig.side import Concluded, ServerOutcomes, Side
from dcnlab.lab.instruments.probe import Probe


class ConfigurationProbe(Probe, Side):
    """The agents of one machine."""

    def prepare(self) -> None:
        """Forget what the servers have reported so far."""
        self._side = self.lab.running.configuring(self.lab.scheme)
        self._side.prepare()

    def begin(self, epoch: int) -> Concluded | None:
        """Have the origin start; what it concludes, if it does."""
        return self._side.begin(epoch)

    def finish(self) -> ServerOutcomes:
        """Wait for the machine's servers."""
        return self._side.finish()
