"""Tang and Arden, Borel Cayley graphs.

example.py    the graph of 21 nodes: Tables 1 and 2, Figure 2, livelock
figures.py    Figures 3 and 4
sentences.py  what the paper says, and its evidence
tables.py     Tables 3 and 4, the densest graphs
"""
