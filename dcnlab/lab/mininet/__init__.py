"""Stock Mininet with dcnlab's topologies, relaying hosts and controller (``dcnlab/mn.py``).

topo.py        a fabric as a Mininet Topo
host.py        a host whose agent relays packets
cpu_share.py   a share of the processors for a host, by cgroup v2
controller.py  the controller of a scheme, which starts the agents too
members.py     the nodes that Mininet made for a topology
gateway.py     Mininet's NAT node: a server leads the others outside
switch.py      a switch that counts as connected when its table is installed
"""
