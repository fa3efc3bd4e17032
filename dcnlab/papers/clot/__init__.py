"""Wang et al., CLOT.

distances.py       diameters and average paths, Figure 14
failures.py        average paths with failures, Figure 18
ideal.py           bisection, ideal throughput (Eqs. 8 to 10)
routing.py         deadlock, livelock, and the diameter in the conclusion
sentences.txt      what the paper says, and its evidence
shortest_paths.py  number of shortest paths (Eq. 11)
simulation.py      throughput and latency, Figures 15 to 17
statements.py      farthest servers, credits, AACM, balance, failures of nodes
structure.py       symmetry, other networks and schemes, paths with failures
tables.py          Tables 2 and 3, number of switches, Eq. 12
"""
