"""Routing schemes: how nodes are labelled, how labels travel in packets, and where a packet goes next.

A *scheme* (``addressing/schemes``, one file each) states its rule once, as a distribution over
next hops given what a node knows.  Four interpreters read it:

    table.compile_table   turns forwarding classes into table entries (controller, agents)
    scheme.walk           follows one packet (``dcnlab path``, tests)
    hostagent             forwards packets by it
    dcnlab.evaluator      takes exact expectations over all pairs

    header.py     Header, Pattern, Action: what a packet says, what an entry matches and does
    scheme.py     the Scheme base class, and the walk of one packet
    table.py      Entry, Table: compiled entries, look-up, size in entries and bits
    vertex.py     base: labels of vertices and of the hosts attached to them
    rule.py       base: one port per destination, with backup paths when links fail
    hierarchy.py  base: labels by cluster
    source.py     base: source routes in packets
    autoconfiguration.py  how servers that start without addresses learn them
    registry.py   schemes found by name, and which of them fit which family
    jit.py        typed decorators for numba kernels

    schemes/      one file per scheme
    fields/       the header fields: IPv4, IPv6 and MAC addresses
    algorithms/   what several schemes build on: coordinates, words, permutations, clusters, paths
    multipath/    parallel paths and complete graphs
    automata/     Knuth-Bendix completion and word differences (WMGR on Cayley graphs)

Everything here is pure: no sockets, clocks or global randomness.
"""
