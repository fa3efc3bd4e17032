"""What decides in a lab and touches no namespace, whether the lab has one machine or several.

lab.py        the coordinator: link state, journal, who performs an operation, changes of links everywhere
machine.py    what it asks of a machine
growth.py     whether a lab can have what its topology never had
removals.py   links and nodes that were removed, and are not restored
member.py     a lab on one machine as a machine of a larger one
link_state/   which links are down, why, and who follows
"""
