#!/usr/bin/env bash
# Boot Debian's user-mode Linux on this machine's root file system and run a command in the project.
# It provides Open vSwitch's kernel datapath and netem on a machine with neither, and without
# virtualisation.
#
#   vagrant/uml/run.sh [COMMAND]      (default: the lab tests that need such a kernel)
#
# DCNLAB_VM_MEMORY is the machine's memory, DCNLAB_VM_OPTIONS adds to the kernel's command line: a network
# (vec0:transport=raw,ifname=NAME), or SHARED=FOLDER, which is /run/shared there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
command=${1:-.venv/bin/pytest -q -p no:cacheprovider --color=no -m vm tests/vm}
memory=${DCNLAB_VM_MEMORY:-3G}

if ! command -v linux.uml >/dev/null; then
    echo "run.sh: needs user-mode Linux: apt-get install user-mode-linux" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if grep -qm1 amx /proc/cpuinfo; then
    cc -shared -fPIC -O2 -o "$scratch/wide_registers.so" "$here/wide_registers.c"
    export LD_PRELOAD="$scratch/wide_registers.so"
fi
printf '%s\n' "$command" >"$scratch/command"  # the kernel's command line would split it
linux.uml mem="$memory" rootfstype=hostfs rootflags=/ rw quiet con=null con0=null,fd:1 \
    init="$here/init.sh" PROJECT="$project" COMMAND="$scratch/command" PYTHONDONTWRITEBYTECODE=1 \
    ${DCNLAB_VM_OPTIONS:-} \
    </dev/null | tee "$scratch/log"
grep -q '^vm-test: exit 0' "$scratch/log"
