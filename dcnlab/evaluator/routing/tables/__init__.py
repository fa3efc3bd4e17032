"""Tables counted without compiling each.

table_counts.py   the common parts of the vectorised forms of table sizes
prefix_counts.py  the fewest prefixes of many tables over the same labels, counted
"""
