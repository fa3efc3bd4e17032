"""The namespaces of nodes, and what is set in those of hosts.

netns.py            network namespaces and their interfaces, created in batches
host_namespaces.py  what a host's programs see of the machine beside its network: its name, /sys
hosts.py            names in a lab: its own ``/etc/hosts`` with its servers, and its own ``/etc/resolv.conf``
neighbours.py       permanent neighbours: plain hosts know each other's hardware addresses from the start
"""
