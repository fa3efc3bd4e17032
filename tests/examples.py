"""``make examples``: run every example, one after the other.

    python -m tests.examples [NAME...]

Prints a line for each; exit code 1 if one does not end as it should, with what that one printed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time

from release import examples

_TIMEOUT = 300


def main(names: list[str]) -> int:
    """Run those with these names, or all; the exit code."""
    known = {path.stem: path for path in examples.examples()}
    if unknown := [name for name in names if name not in known]:
        print(f"there is no example {unknown[0]}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = names or list(known)
    failed = []
    for number, name in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {name}: {examples.lesson(known[name])}", flush=True)
        begun = time.monotonic()
        code, said = _run(examples.command(known[name]))
        if code:
            failed.append(name)
            print(said, end="")
        print(f"    {'failed' if code else 'holds'}, {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{len(chosen)} examples: {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed else 0


def _run(line: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed; -1 when it takes too long."""
    program, *words = shlex.split(line)
    command = [sys.executable, *(["-m", "dcnlab"] if program == "dcnlab" else []), *words]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, cwd=examples.ROOT, timeout=_TIMEOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, f"    it took more than {_TIMEOUT} s\n"
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
