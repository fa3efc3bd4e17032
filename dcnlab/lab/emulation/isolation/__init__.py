"""``--isolate``: programs in hosts run with little more than their own network.

identities    whom the root of a host's user namespace is outside it
maker         a process that makes network namespaces in user namespaces of their own
ownership     the session's side of it
enclosure     the file system that the programs of a host see
keeper        the first process of a host: keeps its process and mount namespaces
entry         enters a host with an image, and runs a program there
programs      the session's side of it: starts programs there
"""
