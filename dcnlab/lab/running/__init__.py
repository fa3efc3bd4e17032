"""What a machine runs of a lab: what was launched, changes of its links, the programs in its nodes.

local_machine.py      the machine of this process
following.py          what agents, controller and switches are told of failures, at once or in an order
processes/            the processes that it cannot do without, watched and started again
convergence.py        whether agents, controller and tables follow the link state
controller_status.py  what is known of a controller that is not ours
port_watch.py         which ports have no carrier
mending.py            interfaces that a program in a host has deleted
impairing.py          impairments of links
later_hosts.py        hosts that are added to a running lab
extending.py          switches and links that are added to one
program_start.py      a program in a node: its namespace, files, environment
execution.py          a program of a client, from its start to its end
process_guard.py      signals of its client reach it; it ends with its client
guard.py              what the guard outside the sandbox is asked for
"""
