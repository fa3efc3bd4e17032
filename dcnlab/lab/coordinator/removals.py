"""Links and nodes that were removed from a running lab: cut, and restored only where they are added again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.contract.links import LinkChange
    from dcnlab.lab.coordinator.lab import Coordinator


class Removals:
    """What was removed from a lab."""

    def __init__(self, lab: Coordinator) -> None:
        self._lab = lab
        self._links, self._nodes = lab.link_state.removed

    def remove(self, kind: str, names: Sequence[str]) -> LinkChange:
        """Remove links by themselves, or a node with its links."""
        links, node = self._named(kind, names)
        if self._among(links, node):
            raise UsageError(f"{'-'.join(names)} was removed before")
        change = self._lab.change_links(links, node, up=False)
        (self._links.update(links) if node is None else self._nodes.add(node))
        return change

    def add(self, kind: str, names: Sequence[str]) -> LinkChange:
        """Add what was removed; UsageError for what was not."""
        links, node = self._named(kind, names)
        if not self._among(links, node):
            raise UsageError(f"{'-'.join(names)} is there: `restore` brings back what has failed")
        change = self._lab.change_links(links, node, up=True)
        (self._links.difference_update(links) if node is None else self._nodes.discard(node))
        return change

    def check_restored(self, kind: str, names: Sequence[str]) -> None:
        """Raise UsageError for what was removed."""
        if self._among(*self._named(kind, names)):
            what = f"`dcnlab add {self._lab.config.name} {kind} {' '.join(names)}` adds it again"
            raise UsageError(f"{'-'.join(names)} was removed: {what}")

    def _named(self, kind: str, names: Sequence[str]) -> tuple[Sequence[int], int | None]:
        node = self._lab.node(names[0]) if kind == "node" and names else None
        return self._lab.links_named(kind, list(names)), node

    def _among(self, links: Sequence[int], node: int | None) -> bool:
        return node in self._nodes if node is not None else not self._links.isdisjoint(links)
