"""What several families build on: links from edges, lattices, random graphs, groups, fields.

wiring.py       arrays of links from arrays of edges
galois.py       small finite fields
randomgraph.py  random regular graphs and lifts, by seed
lattice.py      links of grids: within some steps, and random ones
layout.py       positions for drawings: grids, cubes, levels, circles
"""
