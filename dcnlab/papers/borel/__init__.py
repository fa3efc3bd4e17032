"""Tang and Arden, Borel Cayley graphs.

example.py     the graph of 21 nodes: Tables 1 and 2, Figure 2, livelock
figures.py     Figures 3 and 4
labels.py      nodes, Equations 1 and 2, other graphs and schemes
sentences.txt  what the paper says, and its evidence
statements.py  propositions, what the schemes store, and their time
tables.py      Tables 3 and 4, the densest graphs
"""
