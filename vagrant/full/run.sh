#!/usr/bin/env bash
# `vagrant up` in full on a machine that may have no usable virtualisation: builds a box from
# Debian packages, runs the project's Vagrantfile as it is with vagrant-libvirt and qemu, launches
# labs in the machine over ssh, destroys it, and writes what was seen to docs/vm.md.
#
#   vagrant/full/run.sh           (make vm-full; as root, or through sudo)
#
# DCNLAB_VM_FOLDER keeps boxes and logs in that folder, and a box found there is used again.
#
# All of it happens in a pid, mount and network namespace of its own that reaches the network
# through slirp4netns: when this script ends, the kernel ends libvirtd, dnsmasq and qemu, and
# neither bridges nor firewall rules nor virtual machines of this machine's own are touched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)

if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "run.sh: needs root: libvirtd and a box's file system" >&2; exit 2; }
    exec sudo --preserve-env=DCNLAB_VM_FOLDER,DCNLAB_MEMORY,DCNLAB_CPUS "$0" "$@"
fi

scratch=${DCNLAB_VM_FOLDER:-$(mktemp -d /var/tmp/dcnlab-vm.XXXXXX)}
install -d -m 700 "$scratch"
world='' network=''

finish() {
    [ -z "$world" ] || kill -KILL "$world" 2>/dev/null || true # its init, and all in it, goes with it
    [ -z "$network" ] || kill "$network" 2>/dev/null || true
    wait
    [ -n "${DCNLAB_VM_FOLDER:-}" ] || rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The first process of the new pid namespace: that whose parent is `unshare`.
first_process() {
    until pgrep -P "$world"; do
        kill -0 "$world" 2>/dev/null || fail
        sleep 0.1
    done
}

fail() {
    echo "vm-full: failed; what came last:" >&2
    tail -n 20 "$scratch/log" >&2
    exit 1
}

bash "$here/box.sh" "$scratch" || fail
unshare --fork --kill-child --pid --mount-proc --mount --net --ipc --uts \
    bash "$here/inside.sh" "$project" "$scratch" &
world=$!
slirp4netns --configure --mtu=1500 --disable-host-loopback "$(first_process)" tap0 >"$scratch/slirp4netns.log" 2>&1 &
network=$!
wait "$world" || fail
world=''
python3 "$here/record.py" "$scratch" "$project/docs/vm.md"
