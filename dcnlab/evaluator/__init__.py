"""The offline engine: the same fabrics and the same rules as in a lab, without packets.

    adjacency.py  a fabric as a bare graph, without what failed; what a hop counts
    distances.py  bit-parallel breadth-first search: exact distances, or sampled with confidence
    pairs.py      which pairs; failures.py: which links and nodes are down
    states.py     a scheme's rule as a Markov chain per destination: exact expectations
    vector/       schemes as next-hop arrays, one file each; chase.py follows those
    nearest.py    next hops by search; mend.py, reroute.py: detours round known failures; splits.py: shares
    routed.py     either of the two: the joint distribution of routed hops and distance
    walks.py      ways drawn one by one
    tables.py     table sizes, counted entry by entry
    evaluate.py   all of this on one fabric: `dcnlab evaluate`

    traffic.py    who sends to whom; flows.py: the links that each flow crosses
    throughput.py max-min fair rates; trees.py: along given paths; onoff.py: of flows that come and go
    loads.py      link loads without listing paths
    betweenness.py  the same over all shortest paths, as ECMP spreads
    latency.py    packets in queues; arrivals.py: when they are created
    structure.py  edge-disjoint paths, whatever the routing; bisection.py: how hard a fabric is to halve
    certificate.py  given paths held against the cables
    metrics.py    the figures above, each by its name
    compare.py    grids of evaluations over processes: `dcnlab compare`; compiling.py: what those compile
    sweep.py      more and more failures: `dcnlab sweep`
    cost.py       prices and power: `dcnlab cost`; densest.py: `dcnlab densest`
    plots.py      figures; panels.py: several as one; report.py: one self-contained page
    reproduce/    the papers' claims, measured: `dcnlab reproduce`
    jit.py        the decorators of compiled kernels

Importing the package imports nothing; numba comes with the modules that use it.  A new
scheme needs nothing here; a file in vector/ makes it fast.
"""
