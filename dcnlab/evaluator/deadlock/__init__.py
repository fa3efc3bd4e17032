"""Freedom from deadlock: which buffers can wait for each other in a cycle, under all routes of a scheme.

A channel is a directed link with a buffer at its end.  A packet that holds a channel may wait for the next one
of its route.  If these dependencies have no cycle, no set of packets can wait for each other for ever (Dally
and Seitz, 1987).

channels.py         channels, and the dependencies that are possible between them
dependencies.py     which links packets to one destination wait for, under all branches of a rule
between_servers.py  channels as labs have them with credits: from server to server
datelines.py        the two virtual channels of each link of a torus
cycles.py           cycles: whether there is one, and a shortest one
senders.py          who has to send what, so that packets wait as in a cycle
analysis.py         a scheme's dependencies, a shortest cycle, and layers (virtual channels) that have none
"""
