"""The controller: one Ryu application that installs a scheme's compact tables on Open vSwitch.

    rules.py    flow rules and groups as plain values, with the text of ovs-ofctl
    phases.py       a new table beside the old one, for packets with the number of an update
    plan.py     the table of each switch, and the fewest changes from its present one
    beside.py   what stands beside a scheme's entries: a tree for broadcasts, paths to hosts that came later
    hosts/      answers to hosts that ask for hardware addresses
    core.py     the controller's decisions without I/O: events in, effects out
    effects.py  what it decides
    management.py  gives groups a hash basis, at the switches' management sockets
    app.py      the Ryu application, a shim around the core
    attendant.py  runs in its place where only the applications of the user do
    applications.py  which library these are written for
    checksums.py  completes checksums that hosts leave open, in packets that pass through a controller
    conversation.py  what a switch and a foreign controller say, with the answers that the lab corrects
    client.py   the lab's side: the controller's process and its control channel
    openflow/   OpenFlow's messages and texts

``rules``, ``beside``, ``plan``, ``openflow.ofctl``, ``openflow.dump``, ``hosts``, ``checksums``,
``effects`` and ``core`` are pure.  Only ``openflow.encode``, ``openflow.decode``, ``openflow.backend``,
``management`` and ``app`` use an OpenFlow library.
"""
