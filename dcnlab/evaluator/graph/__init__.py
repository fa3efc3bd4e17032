"""Fabrics as graphs, without any routing scheme.

    hop_graph.py       a fabric as compressed adjacency rows, without failed links
    symmetry.py        networks whose servers are all alike
    distances.py       exact distances: histograms, rows, single pairs
    sweeps.py          bit-parallel breadth-first search from 512 sources at once
    single_searches.py breadth-first searches one by one, in large graphs
    nearest.py         next hops towards the nearest of a set of nodes
    first_paths.py     the first shortest path between single nodes of a large network
    simple_paths.py    the k shortest simple paths of single pairs
    next_hops.py       kernels over next-hop arrays: hop counts, tallies
    betweenness.py     link loads when traffic spreads over all shortest paths
    bisection.py       the bisection width: the best cut found and lower bounds
    path_diversity.py  edge-disjoint paths between pairs of servers (max-flow)
    connectivity.py    edge connectivity, disjoint paths between switches, interference, spectral gap
    path_check.py      checks that given paths exist and are disjoint
    failures.py        parses and draws sets of failed links and nodes
    pairs.py           the pairs of nodes that an evaluation covers

Arrays by *directed link* have one element for each port of each node, in the order of
:class:`topos.graph.Adjacency`: link ``start[v] + p - 1`` leaves node v through port p.
"""
