"""``make soak``: chaos in labs of six families, vandals among guests, links that lose packets, wrong command
lines and files.

    python -m tests.soak [SEED [SECONDS [LINES]]]

SECONDS are those of all labs together, and once more those of labs with vandals.  Exit code 1 if something
does not hold; what fails is printed.
"""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import lines, trial
from tests.lab.emulation import test_lossy_links as lossy

#: Plain, multipath and unconfigured labs, with relaying servers and with plain hosts.
LABS = (
    "bcube:4,1 --scheme brp",
    "bcube:4,1 --scheme brp --multipath 2 --load-balance probe",
    "torus:4x4 --scheme pow --autoconfigure",
    "dcell:4,1 --scheme shortest",
    "torus:4x4 --scheme wmgr --link-state agents",
    "fattree:4 --scheme ecmp",
    "jellyfish:8,4,3 --scheme wmgr",
    "smallworld:4x4 --scheme hrsw",
)
#: Labs whose guests damage their own interfaces, addresses and routes.
VANDALS = ("bcube:4,1 --scheme brp --isolate --vandals", "fattree:4 --scheme ecmp --vandals")
#: Cuts and restores of links that lose packets.
_CHANGES = 200
#: One line in so many is a file.
_FILES = 3


def main(seed: int = 1, seconds: int = 600, count: int = 1500) -> int:
    """Run all of it; the exit code."""
    failed = 0
    times = [(lab, seconds // len(some)) for some in (LABS, VANDALS) for lab in some]
    for number, (lab, each) in enumerate(times):
        words = ["chaos", *shlex.split(lab), "--for", f"{each}s", "--seed", str(seed + number)]
        print(f"dcnlab {shlex.join(words)}", flush=True)
        failed += subprocess.run([sys.executable, "-m", "dcnlab.cli", *words], check=False).returncode != 0
    print(f"{_CHANGES} changes of links that lose a fifth of all packets", flush=True)
    failed += not lossy.holds(seed, _CHANGES)
    tried = 0
    for words, wrong in _fuzzed(seed, count):
        tried += 1
        if wrong:
            failed += 1
            print(f"dcnlab {shlex.join(words)!r}: {wrong}", flush=True)
    print(f"{len(times)} labs, {tried} wrong lines and files: {failed} failed")
    return 1 if failed else 0


def _fuzzed(seed: int, count: int) -> Iterator[tuple[list[str], str]]:
    """Lines, and what is wrong with how each ended."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.chdir(folder)
        for words in itertools.islice(lines.lines(seed), count - count // _FILES):
            yield words, trial.trial(words)
        for name, data in itertools.islice(lines.files(seed), count // _FILES):
            Path(name).write_bytes(data)
            words = lines.about(name)
            trouble = trial.trial(words)
            yield words, f"{trouble}: {data!r}" if trouble else ""


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
