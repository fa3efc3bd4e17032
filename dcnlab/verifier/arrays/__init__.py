"""Proofs as arrays, for all pairs of large networks.

- columns: the classes of headers that a scheme's packets have, as numbers
- compiled: the tables of all nodes
- kernel: what becomes of each state, compiled
- starts: what sources write
- crossings: which pairs a failed link concerns
- outcomes: what becomes of packets, and which destinations a failure concerns
- pairs: what must hold of all pairs, with the paths of those of which it does not
- states: which states a failure concerns
- dense, matrix: the same by nodes alone, where nothing but the label decides
"""
