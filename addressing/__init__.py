"""Names and ways: how nodes are labelled, how labels travel, and which way a packet goes.

A *scheme* (``addressing/schemes``, one file each) states its rule once, as a
distribution over actions given what the node knows.  Three interpreters read it:

    table.compile_table   turns ``classes`` into table entries (controller, agents)
    scheme.walk           moves one packet along (``dcnlab path``, tests)
    evaluator             takes exact expectations over all pairs

    header.py    Header, Pattern, Action: what a packet says, what a rule matches and does
    scheme.py    the Scheme base class and the walk
    table.py     Entry, Table: compiled rules, look-up, size in entries and bits
    ipv4.py      host addresses; CLOT's coordinate-to-IPv4 mapping; ipv6.py  the same below a prefix
    mac.py       labels and tags as locally administered MAC addresses
    wire.py      AACM's frames, which configure addresses; directions.py  the ports of a torus
    seal.py      tag and checksum at the end of control frames
    labelwire.py the frames by which WMGR's labels are learned
    registry.py  schemes found by name; which fits which family
    jit.py       compiled kernels: the faces of numba's decorators
    automata/    Knuth-Bendix completion, word differences (WMGR on Cayley graphs)

What several schemes are built on:

    vertex.py    labels of vertices and of the hosts at them; transit and local entries
    rule.py      rules of one port per vertex, and the detour they share when links fail
    source.py    source routing
    ways.py      shortest ways over the links that are up
    freegroup.py, freescan.py, freesearch.py   WMGR's words, the order of the scan, the search for a good one
    hierarchy.py, clusters.py, partition.py   labels by cluster; which clusters; those of any network
    cover.py     the fewest prefixes that say what a function says
    grid.py, sorting.py, mobius.py, rings.py: coordinates, permutations, DCube's and Borel's algebra

What uses several paths at once:

    parallel.py, cubeways.py   parallel paths by the papers' constructions; disjoint.py  as many as there are
    complete.py  complete graphs of servers
    escape.py    a way out of every congestion
    keys.py      where a key lives, and its copies

Everything here is pure: no sockets, clocks or global randomness.
"""
