"""Kieu et al., HR-SW.

background.py    other networks and schemes, addresses
comparison.py    Figures 4 and 5: other schemes beside HR-SW
sentences.txt    what the paper says, and its evidence
small_worlds.py  Figure 3, Fact 1, table entries, set mode
statements.py    sentences without a number
"""
