"""Networks in files and in other programs' words: read, checked, written.

file.py             edge: graphs read from files and from networkx
readers.py          the readers of files, by their endings
raw.py              graphs as files and libraries state them
numbering.py        graphs with numbered nodes and ports, checked
dot.py              Graphviz's format
edge_list.py        edge lists: a link per line
link_attributes.py  what other programs state of links, in our words
export.py           networks written as GraphML, GML, DOT, Mermaid, JSON
limits.py           how large files may be, and what aliases in them may stand for
device_names.py     names that interfaces can have, from the names of a file
"""
