"""Guo et al., DCube.

cost.py        Figures 6 to 8: switches, wires, price, power
paths.py       Figure 4, parallel paths and complete graphs, speedups
sentences.py   what the paper says, and its evidence
theorems.py    theorems, algorithms, examples, throughput of all-to-all traffic
throughput.py  Figure 5, throughput beside DCell and HCN
"""
