"""Automatic structures of groups: normal forms, word differences, and the reduction of words by them.

WMGR on Cayley graphs (Aguirre-Guerrero et al.) labels a node with the ShortLex normal form of its group
element.  The path from u to v is the normal form of u^-1 v.  A node computes it from the labels with an
automaton on word differences, in place of a routing table.

    group.py          a finite group by its generators: normal forms, breadth first
    underlying.py     the Cayley graph under a topology, and its generators' ports
    discovery.py      the generators of a graph's links, from relators
    differences.py    the word differences of a finite group, and the automaton Diff
    reduction.py      reduction of a word to normal form by Diff, one letter at a time
    kernels.py        the same compiled, for long words and for many words
    presentations.py  generators and relators of the Cayley families
    completion.py     Knuth-Bendix completion of a presentation
    acceptor.py       index automaton and word acceptor
    structure.py      general multiplier and Diff from a completed system
    orders.py         orders of letters, and the search for one with a small Diff
    coding.py         normal forms as bits
    sizes.py          states, transitions and bits, compared with a full table

Diff is computed in two independent ways, from the group itself and from a presentation; tests compare
the results.
"""
