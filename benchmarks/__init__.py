"""Benchmarks.  Each compares this program with the alternatives in one run, and prints ratios.

python -m benchmarks              run all of them with their defaults
python -m benchmarks launch       run one; its own options follow

agents.py       start of agents: forked or as fresh interpreters
automata.py     construction of automata and word reduction, compared with KBMAG
cli.py          start of the command line, compared with mn and git
conformance/    cases of OpenFlow 1.3, right or wrong on both data paths of switches
connections.py  switches that connect to the controller, on os-ken and on Ryu
coordinator.py  the coordinator of a lab on many machines, which are simulated
distances.py    all-pairs distances, compared with other libraries
evaluate.py     time of offline evaluations
fidelity.py     verdicts on measurements, compared with figures of the idle machine
first.py        ten figures that a user asks for first, beside those of stock Mininet
flows.py        one and eight flows, in user space, with either fast path, and both
forms.py        vectorised forms of schemes, compared with evaluation without them
hashing.py      completion times of hashed flows in a lab, beside those offline
install.py      installation of flow entries, compared with ovs-ofctl
isolate.py      launch and programs in hosts, with and without isolation
kernel.py       1 to 64 streams over kernel switches, compared with stock Mininet; boots a kernel that has them
launch.py       launch and stop, compared with stock Mininet
ns3.py          a stream while a link fails, compared with ns-3
openvswitch.py  throughput of Open vSwitch's datapath, and its load when idle
mininet_cluster.py  Mininet's cluster edition at 64 hosts, for machines.py
profile.py      profiles of a launch and of a relaying agent
relay.py        one relay: kernel, plain Python loop, agent
repair.py       the controller after a failure, compared with after the restoration
stopped.py      commands while a process of their lab is stopped
streams.py      1 to 64 parallel streams, by each mode in which a lab forwards
traffic.py      short TCP flows per second, compared with wrk and nginx and with iperf3
udp.py          what arrives of UDP as more is offered than a path can carry
record.py       writes docs/performance.md
sandboxes.py    namespaces and child processes for benchmarks
"""
