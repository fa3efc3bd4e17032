"""The control socket of a lab, and programs whose descriptors it carries.

rpc.py       its protocol
runtime.py   where sockets are, names of labs    holders.py   the processes that hold a lab, from outside
stopping.py  ends labs                           crossing.py  keeps terminals of clients out of hosts
upgrade.py   whether the program was replaced meanwhile
"""
