"""Fabrics as graphs, without any routing scheme.

    hop_graph.py       a fabric as compressed adjacency rows, without failed links
    symmetry.py        networks whose servers are all alike
    distances.py       exact distances: histograms, rows, single pairs
    sweeps.py          bit-parallel breadth-first search from 512 sources at once
    single_searches.py breadth-first searches one by one, in large graphs
    nearest.py         next hops towards the nearest of a set of nodes
    next_hops.py       kernels over next-hop arrays: hop counts, tallies
    betweenness.py     link loads when traffic spreads over all shortest paths
    bisection.py       the bisection width: the best cut found and lower bounds
    connectivity.py    edge connectivity, disjoint paths between switches, interference, spectral gap
    hyperbolicity.py   how far distances are from those of a tree
    failures.py        parses and draws sets of failed links and nodes
    pairs.py           the pairs of nodes that an evaluation covers
    paths/  paths of single pairs of nodes: found, counted, checked

Arrays by *directed link* have one element for each port of each node, in the order of
:class:`topos.graph.Adjacency`: link ``start[v] + p - 1`` leaves node v through port p.
"""
