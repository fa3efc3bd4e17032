#!/usr/bin/env bash
# Make a Debian or Ubuntu machine ready for dcnlab: the same steps as `make setup`, and what a machine
# of its own needs besides: the kernel's modules, user namespaces that ordinary users may make.
# Idempotent; run as root by Vagrant and cloud-init, or by hand: provision.sh [FOLDER]
set -euo pipefail
project=${1:-$(cd "$(dirname "$0")/.." && pwd)}

# A machine that has just booted may be updating itself: its apt jobs hold apt's locks.
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

# Ubuntu lets no ordinary user make user namespaces.  A virtual machine is there for its labs, so
# there they may; on a machine of yours that is for you to decide, and `dcnlab doctor` says how.
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
