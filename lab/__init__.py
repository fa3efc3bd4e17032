"""A data centre that runs: namespaces, Open vSwitch, Mininet objects, agents, measurements.

Processes of a lab, each the parent of the next:

    dcnlab up / Lab(...)   the user's command (client of the control socket)
      guard                outside; binds the control socket, ends the world when the command dies
        init               pid 1 of the lab's pid namespace: only reaps
          session          builds the lab and serves it (session.py)
            ovsdb-server, ovs-vswitchd (one pair per shard), controller, agents, shells

When init ends, of whatever cause, the kernel ends every process of the lab and with
them every interface and namespace; the guard then removes the socket.

    runtime.py    where sockets live, names of labs        world.py    guard and init
    control.py    the socket's protocol                    session.py  the lab itself
    netns.py      namespaces and interfaces                openvswitch.py  private daemons
    network.py    Mininet objects over all that            health.py   link state, merged
    measure.py    ping, iperf, probes                      client.py   Lab for Python
    counters.py   what links have carried            capture.py  tcpdump in a node
    losses.py     the lab's own processes that ended
    explain.py    a packet's way in words            tables.py   predicted and installed entries
    configuring.py   addresses that configure themselves (AACM), cables swapped on purpose
    labelling.py     WMGR labels learned by messages, offline and between agents
    dissector.py  AACM for Wireshark                       scapy_layers.py   AACM for scapy
    scenario/     scenario files                     view/       the web view
    doctor.py     what this machine has                    cli/        the command line
"""
