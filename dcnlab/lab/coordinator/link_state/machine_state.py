"""What one machine of a lab has applied of the link state."""

from __future__ import annotations

from dataclasses import dataclass

from dcnlab.lab.contract.machine import Apply


@dataclass
class MachineState:
    """A machine is idle, or applies one revision; the next begins when that has ended."""

    name: str
    nodes: frozenset[int]
    #: The revision that it applied last, the links that were down in it, and why it failed.
    revision: int = 0
    down: frozenset[int] = frozenset()
    error: str = ""
    applying: Apply | None = None
    #: It is to apply the present revision again.
    stale: bool = False
    #: Whether it answers: a machine that does not is not waited for.
    reachable: bool = True
    #: Counts the starts of processes that were told something.
    generation: int = 0
    told: object = None
    #: Whether it is known what it follows: it has applied something since it was launched, or answers again.
    known: bool = True
    #: When it was seen what it observes, on its own clock.
    observed: float = float("-inf")

    def follows(self, links: frozenset[int], down: frozenset[int]) -> bool:
        """Whether it has applied that of the links these are down, and applies nothing else."""
        states = [self.down] if self.applying is None else [self.down, self.applying.down]
        return not self.reachable or (self.known and all(state & links == down for state in states))

    def is_due(self, revision: int) -> bool:
        """Whether it is to begin to apply a revision."""
        return self.reachable and self.applying is None and (self.stale or self.revision != revision)

    def is_settled(self, revision: int) -> bool:
        """Whether it has nothing to do: it has applied a revision, has failed to, or does not answer."""
        return not self.reachable or (self.applying is None and not self.is_due(revision))

    def begin(self, update: Apply) -> Apply:
        """It begins to apply an update."""
        self.stale, self.applying = False, update
        return update

    def end(self, update: Apply, told: object, error: str) -> bool:
        """It has applied an update; False when that one is not under way any more."""
        if self.applying is not update:
            return False
        self.applying, self.error, self.known = None, error, True
        self.revision, self.down = update.revision, update.down
        self.told = told if update.generation == self.generation and not error else None
        return True

    def forget(self) -> None:
        """Processes there were started again: they know nothing, and are to be told the present state."""
        self.stale, self.told = True, None
        self.generation += 1

    def return_again(self) -> None:
        """It answers again, or is another one in its place."""
        self.reachable, self.known, self.observed = True, False, float("-inf")
        self.forget()
