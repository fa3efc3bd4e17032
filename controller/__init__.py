"""The controller: one Ryu application that installs a scheme's compact tables on Open vSwitch.

    rules.py    flow rules and groups as values of no OpenFlow library, with ovs-ofctl's text
    plan.py     what each switch should hold, and the least changes from what it holds
    dump.py     the text of ``ovs-ofctl dump-flows`` and ``dump-groups`` as the same values
    arp.py      ARP requests read and answered; nd.py  the same of IPv6's neighbour discovery
    core.py     the controller's decisions without any I/O: events in, effects out
    lower.py    rules as OpenFlow 1.3 messages
    backend.py  os-ken or Ryu 4.34, whichever was asked for
    app.py      the Ryu application, a shim around the core
    client.py   what the lab holds: the controller's process and its control channel

``rules``, ``plan``, ``dump``, ``arp``, ``nd`` and ``core`` are pure.  Only ``lower`` and ``backend``
(and through it ``app``) know an OpenFlow library.
"""
