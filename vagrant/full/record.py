"""Check the results of run.sh and write them into docs/vm.md: record.py FOLDER DOCUMENT

Between the marks of the document it writes the date, versions, the time of each step, memory, and the
output of commands in the machine.  It exits with 1 and leaves the document unchanged unless every lab
used the kernel datapath, answered every ping, and had the configured delays.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

#: bcube:2,1 with 10 ms per link: two links each way for pairs at one switch.
MIN_RTT_MS = 40.0
_MARKS = re.compile(r"(<!-- vm-full:.*?-->\n).*?(<!-- /vm-full -->)", re.DOTALL)


def failures(folder: Path) -> list[str]:
    """The failed checks, one line each."""
    wrong = []
    for name in ("pingall", "root", "delay", "iperf"):
        answer = printed(folder, name)
        if answer["datapath"] != "kernel":
            wrong.append(f"{name}: the datapath is {answer['datapath']}")
        if answer["sent"] != answer["received"]:
            wrong.append(f"{name}: {answer['received']} of {answer['sent']} answered")
    doctor = {finding["what"]: finding for finding in printed(folder, "doctor")}
    wrong += [f"doctor: {what} is {doctor[what]['state']}" for what in ("datapath", "netem", "namespaces")
              if doctor[what]["state"] != "ok"]  # fmt: skip
    if printed(folder, "delay")["rtt_ms"]["p50"] < MIN_RTT_MS:
        wrong.append("delay: 10 ms per link, and round trips are shorter than 40 ms")
    return wrong


def printed(folder: Path, name: str) -> Any:
    """The JSON that a command in the machine printed."""
    return json.loads((folder / name).read_text())


def megabytes(folder: Path, name: str) -> dict[str, int]:
    """MemTotal and MemAvailable of the machine in MB."""
    return {key: int(value) for key, value in re.findall(r"(\w+): (\d+)", (folder / name).read_text())}


def memory(folder: Path) -> list[tuple[str, str]]:
    """Rows about memory."""
    idle, lab = megabytes(folder, "memory.idle"), megabytes(folder, "memory.lab")
    return [
        ("memory of the machine", f"{idle['MemTotal']:,} MB"),
        ("in use without a lab", f"{idle['MemTotal'] - idle['MemAvailable']:,} MB"),
        ("in use with bcube:4,1 running", f"{lab['MemTotal'] - lab['MemAvailable']:,} MB"),
        ("maximum of the qemu process", f"{int((folder / 'qemu.memory').read_text()):,} MB"),
    ]


def section(folder: Path) -> str:
    """The generated part, as Markdown."""
    text = "".join((folder / name).read_text() for name in ("box.seconds", "seconds"))
    seconds = [line.split("\t") for line in text.splitlines()]
    host, guest = ((folder / name).read_text().splitlines() for name in ("host", "guest"))
    today = datetime.datetime.now(datetime.UTC).date()
    lines = [f"Run on {today} with {', '.join(host)}; in the machine: {', '.join(guest)}.", ""]
    lines += ["| step | seconds |", "|---|---:|", *(f"| {what} | {took} |" for what, took in seconds)]
    lines += [f"| all | {sum(float(took) for _, took in seconds):.1f} |", "", "| | |", "|---|---|"]
    lines += [f"| {what} | {much} |" for what, much in memory(folder)]
    findings = [f"{f['state']:5} {f['what']:14} {f['found']}" for f in printed(folder, "doctor")]
    lines += ["", "`dcnlab doctor` found:", "", "```text", *findings, "```", ""]
    for command, name in commands(folder):
        lines += [
            f'`vagrant ssh -c "{command}"` printed:',
            "",
            "```text",
            compact(printed(folder, name)),
            "```",
            "",
        ]
    return "\n".join(lines)


def commands(folder: Path) -> list[tuple[str, str]]:
    """The commands that ran labs, and the files with their output."""
    text = (folder / "commands").read_text().splitlines()
    by_name = dict(line.split("\t") for line in text)
    return [(by_name[name], name) for name in ("pingall", "root", "delay", "iperf")]


def compact(answer: dict[str, Any]) -> str:
    """JSON, one line per key."""
    inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in answer.items())
    return f"{{\n{inner}\n}}"


def main() -> int:
    """Check and write."""
    folder, document = Path(sys.argv[1]), Path(sys.argv[2])
    wrong = failures(folder)
    for line in wrong:
        print(f"vm-full: {line}", file=sys.stderr)
    if wrong:
        return 1
    text = document.read_text()
    document.write_text(_MARKS.sub(lambda marks: f"{marks[1]}{section(folder)}{marks[2]}", text))
    print(f"vm-full: passed; written to {document}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
