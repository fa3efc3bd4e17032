"""Algorithms that several schemes share: coordinates, permutations, words, clusters, paths.

shortest_paths.py    breadth-first distances and next hops
least_costs.py       paths of least cost, by Dijkstra's algorithm
deciding.py          decisions by arrival port, for all vertices and targets at once
disjoint.py          node-disjoint paths of least total length
bcube_paths.py       BCube's parallel paths
dcube_paths.py       DCube's paths, from the dimensions that they cross
mobius.py            routes in DCube's 1-moebius cube
grid.py              coordinates on tori and meshes
rings.py             chordal rings of Borel Cayley graphs
sorting.py           sorting rules of Cayley graphs
freegroup.py         WMGR's labels on the free group
clusters.py          clusters under failures
balls.py             sizes of Thorup and Zwick's clusters
partition.py         clusters of any network, by METIS
cover.py             the fewest prefixes that state a function
scan/  the order in which WMGR's scan compares a node's neighbours
"""
