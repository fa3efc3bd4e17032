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
    running/      a running lab: link state, processes, programs in nodes
    instruments/  what measurements are made with: echo requests, packet streams, counters
    measurement/  the measurements themselves, one registered class per file
    inspection/   tables, explanations and captures of a running lab
    session/      the process that serves it: operations, prompt
    events/       what happens in a lab: the kinds of events, the journal
    scenario/     scenario files            drawing/      positions of nodes, pictures
    api/          HTTP and JSON, events     view/         the page in the browser, a client of api/
    kv/           a key-value store         replication/  one server's data to several others
    metrics/      a lab for Prometheus      services/     programs that run in hosts, with logs
    outside/      NAT, exposed ports, interfaces of the machine as ports of switches
    machines/     one lab on many machines: which runs what
    mininet/      stock Mininet with our topologies, hosts and controller
    operations/    what Lab can ask of a lab, with the dataclasses of the results

    client.py      Lab, for Python and the command line        foreground.py  programs on this terminal
    sampling.py    counters of links over time
    rpc.py         the control socket's protocol    request.py     requests that are malformed
    config.py      the configuration of a lab       link_shape.py  delay, loss and rate of links
    multipath.py   flows over parallel paths        miswiring.py   cables swapped on purpose
    controller_choice.py  who controls the switches: ours, a remote controller, the user's applications
    exposure.py    ports of servers at this machine's loopback address
    accepting.py   connections to these ports
    naming.py      nodes and links by name          errors.py      one line for the user, exit codes
    python_process.py  Python processes that run only our modules
    log.py         the log of a lab: written by its processes, read by `dcnlab logs`
    runtime.py     where sockets are, names of labs
    doctor.py      checks this machine              calibration.py finds the fastest settings on it
    installing.py  installs missing packages
    settings.py    what calibration found          custom.py      loads files named with --custom
    graph_file.py  a networkx graph as a topology  ending.py       waits for the end of a lab
    local_part.py  what of a network this machine runs, where several do
    scheduler_address.py  where the machines of a lab are asked for
    host_load.py   what the machine was busy with meanwhile
    collectors.py  hosts to which switches send sFlow or IPFIX
    images.py      root file systems of hosts, by name
    program.py     a program to run in a node       popen.py       one that Python has started
"""
