#!/usr/bin/env bash
# Prepare a Debian or Ubuntu machine for dcnlab: the steps of `make setup`, and what a separate machine
# also needs: kernel modules, and user namespaces for ordinary users.
# Idempotent; run as root by Vagrant and cloud-init, or by hand: provision.sh [FOLDER]
set -euo pipefail
project=${1:-$(cd "$(dirname "$0")/.." && pwd)}

# After boot, automatic updates may hold apt's locks.
wait_for_apt() {
    [ -d /run/systemd/system ] || return 0
    systemd-run --quiet --wait -p After=apt-daily.service -p After=apt-daily-upgrade.service true || true
}

install_project() {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 make git >/dev/null
    make -C "$project" setup
    ln -sf "$project/.venv/bin/dcnlab" /usr/local/bin/dcnlab
}

load_modules() {
    local module
    printf '%s\n' openvswitch sch_netem sch_htb tun >/etc/modules-load.d/dcnlab.conf
    while read -r module; do
        modprobe "$module" 2>/dev/null || echo "no kernel module $module: see \`dcnlab doctor\`"
    done </etc/modules-load.d/dcnlab.conf
}

# Ubuntu forbids user namespaces to ordinary users.  In a virtual machine this script allows them.
# On a physical machine its owner decides; `dcnlab doctor` says how.
open_namespaces() {
    local key=kernel.apparmor_restrict_unprivileged_userns
    [ "$(sysctl -n "$key" 2>/dev/null)" = 1 ] && systemd-detect-virt --quiet --vm || return 0
    echo "$key = 0" >/etc/sysctl.d/60-dcnlab.conf
    sysctl --quiet --load /etc/sysctl.d/60-dcnlab.conf
    echo "user namespaces are open to ordinary users (/etc/sysctl.d/60-dcnlab.conf): labs need no sudo"
}

wait_for_apt
install_project
load_modules
open_namespaces
dcnlab doctor
