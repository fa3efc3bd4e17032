"""Topologies: the nodes, ports and links of data-centre networks.

A *family* (``bcube``, ``clot``, ...) is one frozen dataclass in one file of
``topos/families``; its fields are the parameters of a topology specification
such as ``bcube:4,1``.  Building a family gives a :class:`~topos.fabric.Fabric`:
numbered nodes, numbered ports and links, held as arrays, so that memory grows with the
number of links up to a million nodes.  Addressing, agents, controller, evaluator and lab
read the fabric; of the family they use the coordinates and methods that it declares.

    graph.py        Node, Port, Link, LinkState, Adjacency: immutable values
    fabric.py       Fabric: a network as arrays
    ports.py        the ports of nodes, one at a time
    family.py       what a family is; how its parameters are declared and checked
    errors.py       ParameterError, SpecError: one line for the user
    spec.py         specifications such as ``bcube:4,1``: read, checked, refused in one line
    plugins.py      classes found by name: our own, ``--custom`` files, installed packages
    registry.py     families found by name
    families/       one file each
    vertices.py     base of plain graphs, whose vertices are servers, or switches with hosts
    cayley.py       base of Cayley graphs: group elements as vertex numbers
    abelian.py      Cayley graphs of products of cyclic groups
    cells.py        base of recursive structures in which sibling cells share a link
    layout.py       positions for drawings: grids, cubes, levels, circles
    wiring.py       arrays of links from arrays of edges
    randomgraph.py  random regular graphs and lifts, by seed
    galois.py       small finite fields
    device_names.py  names that interfaces can have, from the names of a file
    file.py         edge: graphs read from files and from networkx
    edge_list.py    edge lists: a link per line
    link_attributes.py  what other programs state of links, in our words
    export.py       networks written as GraphML, GML, DOT, Mermaid, JSON
    limits.py       how large files may be, and what aliases in them may stand for
    dot.py          Graphviz's format
    mn.py           edge: every family as a Mininet ``Topo``
"""
