"""A data centre that runs: namespaces, Open vSwitch, Mininet objects, agents, measurements.

Processes of a lab, each the parent of the next:

    dcnlab up / Lab(...)   the user's command (client of the control socket)
      guard                outside; binds the control socket, ends the sandbox when the command dies
        init               pid 1 of the lab's pid namespace: only reaps
          session          builds the lab and serves it (session/)
            ovsdb-server, ovs-vswitchd (one pair per shard), controller, agents, shells

When init ends, the kernel ends every process of the lab and with them every interface and
namespace; the guard then removes the socket.

    emulation/    namespaces, links, private Open vSwitch, launch
    autoconfig/   servers that configure their own addresses (AACM) or labels (WMGR)
    coordinator/  link state: which links are down, why, and who follows
    running/      a running lab: processes, changes of links, programs in nodes
    instruments/  what measurements are made with: echo requests, packet streams, counters
    measurement/  the measurements themselves, one registered class per file
    inspection/   tables and explanations of a running lab
    capture/      packets of a node, and of switches and their controller
    session/      the process that serves it: operations, prompt
    events/       what happens in a lab: the kinds of events, the journal
    scenario/     scenario files            drawing/      positions of nodes, pictures
    api/          HTTP and JSON, events     view/         the page in the browser, a client of api/
    kv/           a key-value store         replication/  one server's data to several others
    metrics/      a lab for Prometheus      services/     programs that run in hosts, with logs
    outside/      NAT, exposed ports, interfaces of the machine as ports of switches
    machines/     one lab on many machines: which runs what
    mininet/      stock Mininet with our topologies, hosts and controller
    contract/     what clients, labs and machines say to each other
    operations/   what can be asked of a lab, one registered class per file
    methods/      the methods of Lab, by which Python asks
    options/      what a user may ask of a lab     control/      the control socket, its clients
    doctor/       checks of this machine

    client.py          Lab, for Python and the command line
    foreground.py      programs on this terminal
    several.py         a program in several nodes at once
    program.py         a program to run in a node
    python_process.py  Python processes that run only our modules
    naming.py          nodes and links by name
    errors.py          one line for the user, exit codes
    log.py             the log of a lab: written by its processes, read by `dcnlab logs`
    sampling.py        counters of links over time
    host_load.py       what the machine was busy with meanwhile
    settings.py        what calibration found for this machine
    custom.py          loads files named with --custom
    graph_file.py      a networkx graph as a topology
"""
