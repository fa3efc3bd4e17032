#!/usr/bin/env bash
# The first process of the namespaces of run.sh: inside.sh PROJECT FOLDER
set -euo pipefail
project=$1 folder=$2 timings=$2/seconds
. "$(dirname "$0")/steps.sh"
export VAGRANT_HOME=$folder/home VAGRANT_DOTFILE_PATH=$folder/machine VAGRANT_CWD=$project/vagrant
export VAGRANT_DEFAULT_PROVIDER=libvirt VAGRANT_NO_COLOR=1

# Private file systems for libvirt and dnsmasq, and slirp4netns's name server.
own_folders() {
    local settings
    settings=$(mktemp -d)
    cp -r /etc/libvirt "$settings/"
    printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' \
        'remember_owner = 0' 'dynamic_ownership = 0' 'cgroup_controllers = []' >"$settings/libvirt/qemu.conf"
    echo 'nameserver 10.0.2.3' >"$settings/resolv.conf"
    mount --make-rprivate /
    mount --bind "$settings/libvirt" /etc/libvirt
    mount --bind "$settings/resolv.conf" /etc/resolv.conf
    local place
    for place in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
        mount -t tmpfs -o mode=755 tmpfs "$place"
    done
    mkdir -p /run/lock /var/lib/libvirt/dnsmasq /var/lib/libvirt/qemu
}

await() { # SECONDS COMMAND...
    local last=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$last" ] || { echo "not within time: $*" >&2; return 1; }
        sleep 0.2
    done
}

libvirt() {
    ip link set lo up
    await 30 ip route get 10.0.2.3
    virtlogd >"$folder/virtlogd.log" 2>&1 &
    libvirtd >"$folder/libvirtd.log" 2>&1 &
    await 60 virsh --connect qemu:///system uri
    rm -rf "$folder/pool" # otherwise the base image of an earlier box would be reused
    mkdir "$folder/pool"
    virsh --connect qemu:///system pool-create-as dcnlab dir --target "$folder/pool"
}

add_box() {
    rm -rf "$VAGRANT_HOME" "$VAGRANT_DOTFILE_PATH"
    vagrant box add "$folder/catalogue.json"
}

# inside FILE COMMAND: run it over ssh as the machine's ordinary user; its output, without Vagrant's
# messages, goes to that file.
inside() {
    local file=$1
    shift
    printf '%s\t%s\n' "$file" "$*" >>"$folder/commands"
    vagrant ssh -c "$*" 2>"$folder/$file.err" | sed 's/\r//g; /^==> /d' | tee "$folder/$file"
    return "${PIPESTATUS[0]}"
}

memory() {
    inside "$1" "awk '/MemTotal|MemAvailable/ {print \$1, int(\$2 / 1024)}' /proc/meminfo"
}

versions() {
    inside guest 'echo "kernel $(uname -r)"; ovs-vsctl --version | head -n 1; systemd-detect-virt; id -un'
    { vagrant --version; qemu-system-x86_64 --version | head -n 1; libvirtd --version; echo "kernel $(uname -r)"
      sed -n 's/.*vm\.driver = "\([a-z]*\)".*/driver \1/p' "$folder/Vagrantfile"
      echo "$(nproc) processors, load $(cut -d ' ' -f 3 /proc/loadavg)"; } >"$folder/host"
}

with_a_lab() { # memory with the documented lab in the background
    inside up 'dcnlab up bcube:4,1 --scheme brp -d --name m --json && dcnlab ping m --json'
    memory memory.lab
    inside down 'dcnlab down m'
}

labs() {
    step "doctor" inside doctor 'dcnlab doctor --json'
    step "pingall, bcube:4,1, brp" inside pingall 'dcnlab up bcube:4,1 --scheme brp --test pingall --json'
    step "the same as root" inside root 'sudo dcnlab up bcube:4,1 --scheme brp --test pingall --json'
    step "pingall, --delay 10ms" inside delay 'dcnlab up bcube:2,1 --scheme brp --delay 10ms --test pingall --json'
    step "iperf" inside iperf 'dcnlab up bcube:2,1 --scheme brp --test iperf --json'
    step "lab in the background" with_a_lab
}

most_memory() { # of the qemu process, from the host's kernel
    awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$(pgrep -f '^/usr/bin/qemu-system' | head -n 1)/status" >"$folder/qemu.memory"
}

own_folders
: >"$folder/commands"
: >"$timings"
step "libvirtd, network, pool" libvirt
step "vagrant box add" add_box
step "vagrant up" timeout 5400 vagrant up --provider=libvirt
memory memory.idle >/dev/null
labs
step "provision.sh again" timeout 1800 vagrant provision
versions
most_memory
step "vagrant destroy" vagrant destroy --force
