"""The control socket of a lab, and programs whose descriptors it carries.

rpc.py       its protocol                        request.py   requests that are malformed
runtime.py   where sockets are, names of labs    holders.py   the processes that hold a lab, from outside
popen.py     a program that Python has started   stopping.py  ends labs
upgrade.py   whether the program was replaced meanwhile
captured.py  one whose output Python waits for   crossing.py  keeps terminals of clients out of hosts
"""
