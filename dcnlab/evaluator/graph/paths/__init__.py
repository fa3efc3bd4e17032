"""Paths of single pairs of nodes: found, counted, checked.

first_paths.py     the first shortest path between single nodes of a large network
path_check.py      checks that given paths exist and are disjoint
path_diversity.py  edge-disjoint paths between pairs of servers (max-flow)
simple_paths.py    the k shortest simple paths of single pairs
simple_lengths.py  only how long they are
"""
