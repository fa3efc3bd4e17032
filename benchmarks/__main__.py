"""``python -m benchmarks [NAME [OPTION...]]``: run one benchmark, or all of them."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import benchmarks

#: Modules that are no benchmarks, or part of another.
_OTHERS = {"__main__", "mininet_cluster", "record", "sandboxes"}


def main() -> int:
    """Run each in its own process; the exit code is 1 if any of them failed."""
    known = [info.name for info in pkgutil.iter_modules(benchmarks.__path__) if info.name not in _OTHERS]
    wanted = sys.argv[1:2] or known
    if wanted[0] in ("-h", "--help"):
        print(f"{__doc__}\n\nNAME: {', '.join(known)}")
        return 0
    if wanted[0] not in known:
        print(f"benchmarks: unknown benchmark {wanted[0]!r}: known: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        print(f"== {name}", flush=True)
        options = sys.argv[2:]
        failed += bool(
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], check=False).returncode
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
