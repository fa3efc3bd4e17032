"""What Linux offers and Python's standard library does not; it knows nothing of networks that are emulated.

    namespaces.py       unshare(2), setns(2)
    mounts.py           mount(2); the /proc and /sys of new namespaces
    seccomp.py          filters of system calls
    netlink.py          interfaces, addresses, routes, carriers
    traffic_control.py  BPF programs and queueing disciplines of interfaces
    bpf.py              bpf(2): maps and programs
    bpf_assembler.py    the instructions that programs are written in
    channel.py          JSON objects, one per line, over a stream socket
    child.py            a process of ours and its channel, with a thread that reads
    descriptors.py      descriptors of another process
    process_exit.py     how a process ended, in words; the end of one that is no child
    secret.py           a secret that one process gives to another

docs/decisions/linux.md says which of these a library offers, and what it would cost.
"""
