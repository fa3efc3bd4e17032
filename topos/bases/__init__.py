"""Base classes of families.

vertices.py  plain graphs, whose vertices are servers, or switches with hosts
cayley.py    Cayley graphs: group elements as vertex numbers
abelian.py   Cayley graphs of products of cyclic groups
cells.py     recursive structures in which sibling cells share a link
grown.py     a network, and switches and links beside
"""
