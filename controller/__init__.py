"""The controller: one Ryu application that installs a scheme's compact tables on Open vSwitch.

    rules.py    flow rules and groups as plain values, with the text of ovs-ofctl
    plan.py     the table of each switch, and the fewest changes from its present one
    dump.py     the output of ``ovs-ofctl dump-flows`` and ``dump-groups`` as the same values
    arp.py      ARP requests and replies
    nd.py       IPv6 neighbour solicitations and advertisements
    core.py     the controller's decisions without I/O: events in, effects out
    lower.py    rules as OpenFlow 1.3 messages
    raising.py  what switches answer about their tables, as rules
    backend.py  os-ken or Ryu 4.34, as chosen
    management.py  gives groups a hash basis, at the switches' management sockets
    app.py      the Ryu application, a shim around the core
    attendant.py  in its place where only the user's applications run
    applications.py  which library these are written for
    checksums.py  completes checksums that hosts leave open, in packets that pass through a controller
    conversation.py  what a switch and a foreign controller say, with the answers that the lab corrects
    client.py   the lab's side: the controller's process and its control channel

``rules``, ``plan``, ``dump``, ``arp``, ``nd``, ``checksums`` and ``core`` are pure.  Only ``lower``,
``raising``, ``backend``, ``management`` and ``app`` use an OpenFlow library.
"""
