#!/usr/bin/env bash
# The virtual environment of a clone.
#   venv.sh stale FOLDER         remove it if it does not work: too old a Python, moved, or half made
#   venv.sh make PYTHON FOLDER   make it, unless it is there
set -euo pipefail
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

works() { "$1/bin/python" -c "$new_enough" && "$1/bin/pip" --version; } >/dev/null 2>&1

case $1 in
stale)
    [ ! -f "$2/pyvenv.cfg" ] || works "$2" || { echo "$2 does not work here: it is made again" >&2; rm -rf "$2"; }
    ;;
make)
    [ -x "$3/bin/python" ] && exit 0
    if ! "$2" -c "$new_enough" 2>/dev/null; then
        found=$("$2" -c 'import platform; print("is", platform.python_version())' 2>/dev/null) || found="is missing"
        echo "dcnlab needs Python 3.11 or later, and $2 $found: install one, then \`make PYTHON=python3.11 ...\`" >&2
        exit 2
    fi
    if ! "$2" -c 'import sys; sys.exit(sys.maxsize < 2**32)'; then
        echo "dcnlab needs a 64-bit Python, since numba has no 32-bit one, and $2 has 32 bits" >&2
        exit 2
    fi
    "$2" -m venv "$3" || { rm -rf "$3"; exit 1; }
    ;;
esac
