"""OpenFlow's messages and texts.

encode.py   rules as OpenFlow 1.3 messages
decode.py   what switches answer about their tables, as rules
ofctl.py    the lines of ``ovs-ofctl dump-flows`` and ``dump-groups``, of any controller, taken apart
dump.py     those that our controller installs, as the same values
backend.py  os-ken or Ryu 4.34, as chosen
connection.py  a connection to a switch; those of os-ken share one thread
serving.py  applications that run on the library, and the switches that connect to them
"""
