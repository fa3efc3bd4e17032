"""Topologies: the nodes, ports and links of data-centre networks.

A *family* (``bcube``, ``clot``, ...) is one frozen dataclass in one file of
``topos/families``; its fields are the parameters of a topology specification
such as ``bcube:4,1``.  Building a family gives a :class:`~topos.fabric.Fabric`:
numbered nodes, numbered ports and links, held as arrays, so that memory grows with the
number of links up to a million nodes.  Addressing, agents, controller, evaluator and lab
read the fabric; of the family they use the coordinates and methods that it declares.

    arrays.py       names of array types
    graph.py        Node, Port, Link, LinkState, Adjacency: immutable values
    fabric.py       Fabric: a network as arrays
    routed.py       networks whose routers are nodes like servers
    stages.py       nodes by their distance from a change of links
    trees.py        a spanning tree of the switches
    words.py        numbers with a noun
    ports.py        the ports of nodes, one at a time
    fields.py       fields that users fill in: declared once, checked by one sentence
    family.py       what a family is
    errors.py       ParameterError, SpecError: one line for the user
    spec.py         specifications such as ``bcube:4,1``: read, checked, refused in one line
    plugins.py      classes found by name: our own, ``--custom`` files, installed packages
    registry.py     families found by name
    families/       one file each
    bases/          base classes of families: plain graphs, Cayley graphs, recursive structures
    instances.py    instances of a family up to a size
    script.py       edge: a Mininet ``Topo``, or a networkx graph, that a user's Python file builds
    files/          networks in files and in other programs' words: read, checked, written
    constructions/  what several families build on: links from edges, lattices, random graphs, groups
    mn.py           edge: every family as a Mininet ``Topo``
"""
