"""The memory that routing by word differences needs, compared with a full table: states, transitions, bits.

A node stores transitions, not states.  Bits are those of packed tables (see :attr:`Diff.bits`); a full
table has a port for every other vertex, without the vertices' names.  A node that computes needs Diff, and
the word acceptor to read labels.  The complete rewriting system reduces words too, and is smaller where
rules are few and short; its bits are the letters of both sides of the rules and an end mark for each.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from addressing.automata.acceptor import DEAD, Acceptor, of_group
from addressing.automata.coding import Coding
from addressing.automata.differences import Diff, automaton, rule_differences
from addressing.automata.group import Group


@dataclass(frozen=True, slots=True)
class Size:
    """The size of an automaton."""

    states: int
    transitions: int
    bits: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a group's automata in one letter order; ``diff`` has all transitions between word
    differences, ``trimmed`` those that reduction needs, and ``rule_differences`` is the number of word
    differences within the rewriting rules."""

    elements: int
    degree: int
    diameter: int
    label_bits: int
    diff: Size
    trimmed: Size
    acceptor: Size
    rules: int
    rule_differences: int
    rule_bits: int
    table_entries: int
    table_bits: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the states as a share of the elements, and bits relative to a full table's."""
        return asdict(self) | {
            "states_share": self.diff.states / self.elements,
            "rule_differences_share": self.rule_differences / self.elements,
            "diff_to_table": self.diff.bits / self.table_bits,
            "trimmed_to_table": self.trimmed.bits / self.table_bits,
            "rules_to_table": self.rule_bits / self.table_bits,
        }


def measure(group: Group) -> Sizes:
    """All sizes for one group."""
    entries = group.order - 1
    rules = list(group.rules())
    letters = sum(len(left) + len(right) + 2 for left, right in rules)
    return Sizes(
        elements=group.order,
        degree=group.degree,
        diameter=int(group.lengths[-1]),
        label_bits=Coding.of(group).bits,
        diff=_of_diff(automaton(group, trimmed=False)),
        trimmed=_of_diff(automaton(group)),
        acceptor=_of_acceptor(of_group(group), group.degree),
        rules=len(rules),
        rule_differences=len(rule_differences(group)),
        rule_bits=letters * group.degree.bit_length(),
        table_entries=entries,
        table_bits=entries * max(1, (group.degree - 1).bit_length()),
    )


def _of_diff(diff: Diff) -> Size:
    return Size(diff.states, diff.transitions, diff.bits)


def _of_acceptor(acceptor: Acceptor, degree: int) -> Size:
    """Bits: per state one for each letter, and per transition a state."""
    transitions = sum(end != DEAD for row in acceptor.moves for end in row)
    state = max(1, (acceptor.states - 1).bit_length())
    return Size(acceptor.states, transitions, acceptor.states * degree + transitions * state)
