#!/usr/bin/env bash
# Run `vagrant up` on a machine that may have no hardware virtualisation: build a box from Debian
# packages, run the unchanged Vagrantfile with vagrant-libvirt and qemu, launch labs over ssh,
# destroy the machine, and write the results to docs/vm.md.
#
#   vagrant/full/run.sh           (make vm-full; as root, or through sudo)
#
# DCNLAB_VM_FOLDER keeps boxes and logs in that folder; a box found there is reused.
#
# Everything runs in separate pid, mount and network namespaces, connected through slirp4netns.  When
# this script ends, the kernel ends libvirtd, dnsmasq and qemu.  The host's bridges, firewall rules and
# virtual machines are not touched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)

if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "run.sh: needs root: libvirtd and a box's file system" >&2; exit 2; }
    exec sudo --preserve-env=DCNLAB_VM_FOLDER,DCNLAB_MEMORY,DCNLAB_CPUS "$0" "$@"
fi

scratch=${DCNLAB_VM_FOLDER:-$(mktemp -d /var/tmp/dcnlab-vm.XXXXXX)}
install -d -m 700 "$scratch"
sandbox='' network=''

finish() {
    [ -z "$sandbox" ] || kill -KILL "$sandbox" 2>/dev/null || true # ends its init and all its processes
    [ -z "$network" ] || kill "$network" 2>/dev/null || true
    wait
    [ -n "${DCNLAB_VM_FOLDER:-}" ] || rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The first process of the new pid namespace: the child of `unshare`.
first_process() {
    until pgrep -P "$sandbox"; do
        kill -0 "$sandbox" 2>/dev/null || fail
        sleep 0.1
    done
}

fail() {
    echo "vm-full: failed; the end of the log:" >&2
    tail -n 20 "$scratch/log" >&2
    exit 1
}

bash "$here/box.sh" "$scratch" || fail
unshare --fork --kill-child --pid --mount-proc --mount --net --ipc --uts \
    bash "$here/inside.sh" "$project" "$scratch" &
sandbox=$!
slirp4netns --configure --mtu=1500 --disable-host-loopback "$(first_process)" tap0 >"$scratch/slirp4netns.log" 2>&1 &
network=$!
wait "$sandbox" || fail
sandbox=''
python3 "$here/record.py" "$scratch" "$project/docs/vm.md"
