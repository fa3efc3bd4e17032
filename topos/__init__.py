"""The networks themselves: who is connected to whom, and nothing else.

A *family* (``bcube``, ``clot``, ...) is one frozen dataclass in one file of
``topos/families``; its fields are the parameters of a topology specification
such as ``bcube:4,1``.  Building a family gives a :class:`~topos.graph.Fabric`:
numbered nodes, numbered ports and links, held as arrays so that a million nodes
cost memory in proportion to the links.  Everything above (addressing, agents,
controller, evaluator, lab) reads a fabric and never looks inside a family except
through the coordinates that it declares.

    graph.py        Node, Port, Link, LinkState, Adjacency: frozen values
    fabric.py       Fabric: a network of them, over arrays
    family.py       what a family is; how its parameters are declared and checked
    spec.py         specifications such as ``bcube:4,1``: read, checked, refused in one line
    plugins.py      classes found by name: our own, ``--custom`` files, installed packages
    registry.py     families found by name
    families/       one file each
    vertices.py     base of graphs of like vertices: servers, or switches with hosts
    cayley.py       base of those that are Cayley graphs: the group in vertex numbers
    cells.py        base of recursive structures whose sibling cells share a link
    layout.py       positions for drawings: grids, cubes, levels, circles
    wiring.py       arrays of links from arrays of edges
    randomgraph.py  regular graphs and lifts drawn by seed
    galois.py       small finite fields
    file.py         edge: graphs read from files and from networkx
    export.py       networks written as GraphML, GML, DOT, Mermaid, JSON
    dot.py          Graphviz's format
    mn.py           edge: every family as a Mininet ``Topo``
"""
