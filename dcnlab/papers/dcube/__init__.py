"""Guo et al., DCube.

cost.py        Figures 6 to 8: switches, wires, price, power
paths.py       Figure 4, parallel paths and complete graphs, speedups
rivals.py      other networks, and where tasks are placed
sentences.txt  what the paper says, and its evidence
statements.py  Theorems 2 and 6, the ABT of others, trunks of ports
structure.py   what is built, and the sequences of the proofs
theorems.py    theorems, algorithms, examples, throughput of all-to-all traffic
throughput.py  Figure 5, throughput beside DCell and HCN
"""
