"""Routing schemes: how nodes are labelled, how packets carry labels, and where a packet goes next.

A *scheme* (``addressing/schemes``, one file each) has one reference rule: the next hops of a
packet at a node, with weights, given the failures that the node knows.  Optimised forms are tested against it,
and four programs interpret it:

    table.compile_table   turns forwarding classes into table entries (controller, agents)
    scheme.walk           follows one packet (``dcnlab path``, tests)
    hostagent             forwards packets by the rule
    dcnlab.evaluator      computes exact expectations over all pairs

    header.py             Header, Pattern, Action: what nodes read, what an entry matches, what it does
    scheme.py             the Scheme base class, and the walk of one packet
    towards.py            next hops towards one destination, over all sources
    table.py              Entry, Table: compiled entries, look-up, size in entries and bits
    vertex.py             base: labels of vertices and of the hosts attached to them
    rule.py               base: one port per destination, with backup paths when links fail
    broken.py             which paths of a rule failures break, for all nodes at once
    hierarchy.py          base: labels by cluster
    source.py             base: source routing
    stated_splits.py      base: stated splits, such as those of the optimum
    subnets.py            an addressing plan: a subnet for each link, loopbacks for routers
    unrouted.py           no scheme: programs in the nodes route
    trial.py              packets of a user's scheme through the intact network, before a launch
    autoconfiguration.py  how servers that start without addresses learn them
    registry.py           schemes found by name, and which of them fit which family
    jit.py                typed decorators for numba kernels

    schemes/              one file per scheme
    fields/               the header fields: IPv4, IPv6 and MAC addresses
    algorithms/           shared by several schemes: coordinates, words, permutations, clusters, paths
    multipath/            parallel paths and complete graphs
    automata/             Knuth-Bendix completion and word differences (WMGR on Cayley graphs)

Everything here is pure: no sockets, no clocks, no global random state.
"""
