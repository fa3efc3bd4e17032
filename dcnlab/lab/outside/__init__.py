"""A lab's openings to the machine and its networks; each exists only when the user asks for it.

    nat.py         hosts reach what the machine reaches
    networks.py    the IPv4 networks of a fabric: what does not go outside
    expose.py      programs on the machine reach a port of a server
    accepting.py   connections to these ports
    attachment.py  an interface of the machine as a port of a switch

The guard, which is outside the sandbox, does what they ask for: ``dcnlab.lab.running.guard`` asks,
``dcnlab.lab.emulation.broker`` answers.
"""
