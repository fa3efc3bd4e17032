"""The examples at the end of each command's `--help`; a test parses each as the program does."""

from __future__ import annotations

#: By command; LAB stands for the name of a lab.  Measurements add theirs.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "up": (
        "dcnlab up bcube:4,1 --scheme brp",
        "dcnlab up clot:4x4 --scheme pow -d --name c",
        "dcnlab up fattree:4 --scheme twolevel --test pingall --json",
        "dcnlab up bcube:4,1 --scheme brp --rate 100Mbit --delay 1ms",
    ),
    "ps": ("dcnlab ps", "dcnlab ps --json"),
    "exec": (
        "dcnlab exec LAB h1 ping -c3 h7",
        "dcnlab exec LAB h1 bash",
        "dcnlab exec LAB s0 ovs-ofctl -O OpenFlow13 dump-flows s0",
    ),
    "fail": ("dcnlab fail LAB link h0 s4", "dcnlab fail LAB node h12"),
    "restore": ("dcnlab restore LAB link h0 s4", "dcnlab restore LAB node h12"),
    "heal": ("dcnlab restore LAB link h0 s4",),
    "logs": ("dcnlab logs LAB", "dcnlab logs LAB -f"),
    "down": ("dcnlab down LAB", "dcnlab down --all"),
    "run": ("dcnlab run bcube-cut", "dcnlab run my.yaml --keep results/my"),
    "explain": ("dcnlab explain bcube:4,1 h0 h15 --scheme brp", "dcnlab explain LAB h0 h15"),
    "capture": (
        "dcnlab capture LAB h12 icmp",
        "dcnlab capture LAB s4 --port 4 --count 10",
        "dcnlab capture LAB h0 -w h0.pcap",
    ),
    "view": ("dcnlab view LAB", "dcnlab view LAB --port 8080"),
    "aacm": ("dcnlab aacm clot:4x4", "dcnlab aacm clot:4x4 --loss 0.1 --miswire h3:2,h7:1"),
    "reconfigure": ("dcnlab reconfigure LAB",),
    "dissector": ("dcnlab dissector > ~/.local/lib/wireshark/plugins/dcnlab.lua",),
    "overload": (
        "dcnlab overload clot:4x4 --scheme pow",
        "dcnlab overload clot:4x4 --pattern incast --target h5 --offline",
    ),
    "replicate": ("dcnlab replicate LAB h0 h1 h2 h4 --size 8M",),
    "kv": ("dcnlab kv LAB put colour blue --replicas 2", "dcnlab kv LAB get colour", "dcnlab kv LAB ls"),
    "list": ("dcnlab list", "dcnlab list bcube", "dcnlab list brp"),
    "topology": (
        "dcnlab topology bcube:4,1",
        "dcnlab topology file:petersen.edgelist --json",
        "dcnlab topology clot:4x4 --format svg > clot.svg",
    ),
    "path": ("dcnlab path bcube:4,1 --scheme brp h0 h15",),
    "tables": ("dcnlab tables bcube:4,1 s4 --scheme brp", "dcnlab tables LAB s4"),
    "paths": ("dcnlab paths bcube:4,1 h0 h15",),
    "complete-graph": ("dcnlab complete-graph hdcube:4,2 h0",),
    "label": ("dcnlab label bcube:4,1 --root s0 --cut link:h0-s0",),
    "automaton": ("dcnlab automaton transposition:6 --order search",),
    "cost": ("dcnlab cost", "dcnlab cost bcube:8,1 fattree:16"),
    "borel-search": ("dcnlab borel-search --diameter 11 --budget 5min",),
    "evaluate": (
        "dcnlab evaluate bcube:4,1 --scheme brp,wmgr,shortest",
        "dcnlab evaluate dcube:8,1 --scheme dcube-shortest,wmgr --failures links=5%",
        "dcnlab evaluate bcube:8,2 --scheme brp --pairs sample:2000 --metrics loads,throughput",
    ),
    "compare": (
        "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr,shortest --report report.html",
        "dcnlab compare --topologies bcube:4,2 --schemes brp,wmgr --failures links=5% --seeds 4 --csv all.csv",
        "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr --figures figures",
    ),
    "throughput": (
        "dcnlab throughput hdcube:8,1 --scheme dcube",
        "dcnlab throughput bcube:4,1 --scheme brp --traffic permutation",
    ),
    "sweep": ("dcnlab sweep hdcube:8,1 bcube:8,1 --failures servers,links --figure sweep.pdf",),
    "reproduce": ("dcnlab reproduce", "dcnlab reproduce dcube-fig6 --report fig6.html"),
    "doctor": ("dcnlab doctor", "dcnlab doctor --calibrate"),
    "demo": ("dcnlab demo", "dcnlab demo --topology clot:4x4 --scheme pow"),
}


def epilog(command: str) -> str:
    """The text below the help of a command."""
    return "\n\n".join(("Examples:", *(f"[bold]{line}[/bold]" for line in EXAMPLES[command])))
