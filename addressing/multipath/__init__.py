"""Several paths at once: parallel paths between two servers, and complete graphs of servers.

complete_graphs.py  complete graphs: by the family's construction, or for any given servers by search
parallel_paths.py   parallel paths, and which nodes they may share
registry.py         the construction of a fabric's family
constructions/      one file per family that has its own construction
general.py          what holds on every network: minimum-cost flow
neighbour_graph.py  complete graphs of a server and one neighbour per port: cells
construction.py     the base class of constructions
edge_disjoint.py    one path per pair, chosen so that no two share a link: an integer program
"""
