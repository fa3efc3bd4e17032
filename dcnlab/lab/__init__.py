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
    launch.py     from a configuration to all of it        config.py   that configuration
    shaping.py    delay, loss, bandwidth of links          hosts.py    names for programs
    network.py    Mininet objects over all that            health.py   link state, merged
    operations.py what can be asked of the session         prompt.py   the prompt
    measure.py    ping, iperf                              client.py   Lab for Python
    stream.py     numbered packets: outages
    counters.py   what links have carried                  capture.py  tcpdump in a node
    losses.py     the lab's own processes that ended
    abandoned.py  programs run for somebody: their signals, their end
    programs.py   which there are; groups.py  those that change their groups
    terminal.py   what is typed here goes there            display.py  windows from inside a lab
    explain.py    a packet's way in words                  tables.py   predicted and installed entries
    execution.py  programs in nodes
    mptcp.py      Multipath TCP over parallel ways         connection.py  its two ends
    overload.py   more than the network takes              frequencies.py   next hops really taken
    configuring.py   addresses that configure themselves (AACM), cables swapped on purpose
    labelling.py     WMGR labels learned by messages, offline and between agents
    dissector.py  AACM for Wireshark                       scapy_layers.py   AACM for scapy
    scenario/     scenario files                           view/       the web view
    kv/           keys and values                          replication/  one server's data to several
    doctor.py     what this machine has; capacity.py  what fits on it
    probe.py      what is fastest on it; settings.py  what is kept of that
    naming.py     nodes and links by name                  errors.py   lines for the user, exit codes
    catalogue.py  the registries as rows                   demo.py     the demonstration
    cli/          the command line
"""
