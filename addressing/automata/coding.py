"""Normal forms as bits: every letter takes as few bits as the number of letters possible there needs.

Only some letters can follow a prefix of a normal form: the children in the tree of normal forms.  Child
number i, counted from 1, is written in bit_length(children) bits; 0 means that the word ends.  So the
labels that begin with a node's bits are those of the nodes below it in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addressing.automata.group import Group


@dataclass(frozen=True)
class Coding:
    """The label of each element, and the element of each label; ``bits`` is the width of every label."""

    bits: int
    labels: tuple[int, ...]
    elements: dict[int, int]

    @classmethod
    def of(cls, group: Group) -> Coding:
        """The labels of a group's elements."""
        children = np.bincount(group.parents[1:], minlength=group.order)
        widths = [count.bit_length() for count in children.tolist()]
        codes, met = [(0, 0)] * group.order, [0] * group.order
        for element, parent in enumerate(group.parents.tolist()):
            if element:
                met[parent] += 1
                value, length = codes[parent]
                codes[element] = (value << widths[parent] | met[parent], length + widths[parent])
        bits = max(1, *(length for _, length in codes))
        labels = tuple(value << bits - length for value, length in codes)
        return cls(bits, labels, {label: element for element, label in enumerate(labels)})
