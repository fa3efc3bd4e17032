"""Aguirre-Guerrero et al., WMGR.

charts.py      the charts of the figures
complexity.py  Tables I to IV: growth of the quantities
figures.py     Figures 8 to 11, Theorems 9 and 10
orders.py      the effect of scan order and root
sentences.txt  what the paper says, and its evidence
statements.py  worked figures, the size of Diff, k, hyperbolicity, permutation sort
states.py      Figure 7
topologies.py  Table I
trade_offs.py  stretch, labels, memory and time beside each other
"""
