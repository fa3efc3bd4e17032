"""Tables, compiled once, and counted without compiling each.

compiled_tables.py  tables that are compiled once, for paths and sizes
table_counts.py     the common parts of the vectorised forms of table sizes
prefix_counts.py    the fewest prefixes of many tables over the same labels, counted
"""
