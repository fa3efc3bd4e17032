"""The offline engine: the same fabrics and the same rules as in a lab, without packets.

    adjacency.py  a fabric as a bare graph, without what failed; what a hop counts
    distances.py  bit-parallel breadth-first search: exact distances, or sampled with confidence
    pairs.py      which pairs; failures.py: which links and nodes are down
    states.py     a scheme's rule as a Markov chain per destination: exact expectations
    vector/       schemes as next-hop arrays, one file each; chase.py follows those
    routed.py     either of the two: the joint distribution of routed hops and distance
    tables.py     table sizes, counted entry by entry
    evaluate.py   all of this on one fabric: `dcnlab evaluate`

Importing the package imports nothing; numba comes with the modules that use it.
"""
