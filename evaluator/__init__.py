"""The offline engine: the same fabrics and the same rules as in a lab, without packets.

    adjacency.py  a fabric as a bare graph, without what failed; what a hop counts
    distances.py  bit-parallel breadth-first search: exact distances, or sampled with confidence
    pairs.py      which pairs; failures.py: which links and nodes are down
    states.py     a scheme's rule as a Markov chain per destination: exact expectations
    vector/       schemes as next-hop arrays, one file each; chase.py follows those
    routed.py     either of the two: the joint distribution of routed hops and distance
    tables.py     table sizes, counted entry by entry
    evaluate.py   all of this on one fabric: `dcnlab evaluate`

    traffic.py    who sends to whom; flows.py: the links that each flow crosses
    throughput.py max-min fair rates; loads.py: link loads without listing paths
    betweenness.py  the same over all shortest paths, as ECMP spreads
    structure.py  bisection and edge-disjoint paths, whatever the routing
    compare.py    grids of evaluations over processes: `dcnlab compare`
    plots.py      figures; report.py: one self-contained page
    reproduce/    the papers' claims, measured: `dcnlab reproduce`

Importing the package imports nothing; numba comes with the modules that use it.  A new
scheme needs nothing here; a file in vector/ makes it fast.
"""
