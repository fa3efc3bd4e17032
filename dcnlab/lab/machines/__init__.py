"""One lab on many machines (docs/machines.md, docs/decisions/machines.md).

The coordinator (``python -m dcnlab.lab.machines``) runs beside the user's command, the parts in Dask's
workers, or in servers at Unix sockets.

placement.py       which machine runs which nodes, so that few links are cut
placement_file.py  the same, as a user states it in a file
coordination.py    what the coordinator needs, estimated
description.py     machines as a user describes them
certificates.py    the key and the certificate of a cluster
transport/         how machines are reached: Dask's workers, or servers at Unix sockets
launching.py       the launch of a lab: which machine runs what, and the part of each
members.py         what the user is told of the machines, and one that was lost comes back
watching.py        what machines observe of links, and whether they answer
remote_machine.py  a machine as the coordinator sees it, and probes there
exposing.py        ports of servers that programs beside the coordinator reach
prompt.py          the prompt of a lab on many machines
remote_part.py     requests to the part of a machine
machine_server.py  a part on its machine: what launches it and passes requests on
contact.py         what a part does while the coordinator does not reach it
"""
