"""One lab on many machines (docs/machines.md, docs/decisions/machines.md).

The coordinator (``python -m dcnlab.lab.machines``) runs beside the user's command, the parts in Dask's workers.

placement.py       which machine runs which nodes, so that few links are cut
placement_file.py  the same, as a user states it in a file
description.py     machines as a user describes them
certificates.py    the key and the certificate of a cluster
cluster.py         the workers of a scheduler, and what their machines have
this_machine.py    the same, as a worker sees its own
whole_lab.py       the coordinator's lab: its parts, the link state that it spreads, machines that are lost
rejoining.py       a machine that was lost comes back
operations.py      the coordinator's operations: passed on to parts, or put together from them
measured_lab.py    the lab as its measurements see it
remote_probe.py    probes of measurements on its machines
connecting.py      connections of servers on any machine with sockets of the coordinator
exposing.py        ports of servers that programs beside the coordinator reach
prompt.py          the prompt of a lab on many machines
network.py         the whole network, for what looks into it from the outside
remote_part.py     a part as the coordinator sees it
part_actor.py      a part in its worker: the actor that launches it and passes requests on
contact.py         what a part does while the coordinator does not reach it
part_lab.py        the part that this machine runs
"""
