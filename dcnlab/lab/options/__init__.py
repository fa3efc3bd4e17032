"""The options of a lab, and what each may say; no machine is needed to check them.

stated.py             the options, each stated once, and what follows from them alone
checks.py             what can be checked of them without a machine
config.py             the configuration of a lab: made from what a user wrote, and checked
values.py             the types of options: which values they take
controller_choice.py  who controls the switches: ours, a remote controller, the user's applications
link_shape.py         delay, loss and rate of links
multipath.py          flows over parallel paths
miswiring.py          cables swapped on purpose
exposure.py           ports of servers at this machine's loopback address
collectors.py         hosts to which switches send sFlow or IPFIX
images.py             root file systems of hosts, by name
scheduler_address.py  where the machines of a lab are asked for
mtu.py                the MTU of links, relays and hosts
local_part.py         what of a network this machine runs, where several do
"""
