"""Algorithms that several schemes share: coordinates, permutations, words, clusters, paths.

shortest_paths.py    breadth-first distances and next hops
disjoint.py          node-disjoint paths of least total length
bcube_paths.py       BCube's parallel paths
dcube_paths.py       DCube's paths, from the dimensions that they cross
mobius.py            routes in DCube's 1-moebius cube
grid.py              coordinates on tori and meshes
rings.py             chordal rings of Borel Cayley graphs
sorting.py           sorting rules of Cayley graphs
freegroup.py         WMGR's labels on the free group
wmgr_scan_order.py   the order in which WMGR compares neighbours
wmgr_scan_search.py  the search for an order with short paths
clusters.py          clusters under failures
balls.py             sizes of Thorup and Zwick's clusters
partition.py         clusters of any network, by METIS
cover.py             the fewest prefixes that state a function
"""
