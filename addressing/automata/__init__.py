"""Automatic structures of groups: normal forms, word differences, and reduction of words by them.

WMGR on Cayley graphs (Aguirre-Guerrero et al.) labels a node with the ShortLex normal form
of its group element; the way from u to v is the normal form of u^-1 v, which a node finds
from the labels with an automaton on word differences instead of a routing table.

    group.py          a finite group by its generators: normal forms breadth first
    differences.py    the word differences of a finite group, and the automaton Diff
    reduction.py      least words by Diff, one letter at a time
    kernels.py        the same compiled, for long words and for many
    presentations.py  generators and relators of the Cayley families
    completion.py     Knuth-Bendix completion of a presentation
    acceptor.py       index automaton and word acceptor
    structure.py      general multiplier and Diff from a completed system
    orders.py         orders of letters, and the search for one with a small Diff
    coding.py         normal forms as bits
    sizes.py          states, transitions and bits beside a full table's

The two roads to Diff, from the concrete group and from a presentation, are independent of
each other and tested against each other.
"""
