"""``python -m tests.again``: run the labs' tests that failed last a second time, one after the other.

Two thousand labs beside each other on two processors meet races that none of them meets alone.  As CPython's
``regrtest --rerun`` does, those that fail are run again, and are named if they pass then: each is a fault of
the test or of the product that waits for its cause.  More than a few are no coincidence, and are not run again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FAILED = Path(".pytest_cache/v/cache/lastfailed")
MOST = 3


def main() -> int:
    failed = list(json.loads(FAILED.read_text())) if FAILED.exists() else []
    tests = [re.sub(r"@[^@\]]+$", "", test) for test in failed]  # without the group that xdist adds
    if not 0 < len(tests) <= MOST:
        return 1
    print(f"\n{len(tests)} failed and run again, alone:", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], check=False).returncode
    if code == 0:
        print("Passed only when run again; look for the cause: " + ", ".join(tests), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
