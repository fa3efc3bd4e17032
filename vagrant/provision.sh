#!/usr/bin/env bash
# Make a Debian or Ubuntu machine ready for dcnlab: the same steps as `make setup`, and the kernel's
# modules.  Idempotent; run as root by Vagrant and cloud-init, or by hand: provision.sh [FOLDER]
set -euo pipefail
project=${1:-$(cd "$(dirname "$0")/.." && pwd)}

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends make git >/dev/null
make -C "$project" setup
ln -sf "$project/.venv/bin/dcnlab" /usr/local/bin/dcnlab

printf '%s\n' openvswitch sch_netem tun >/etc/modules-load.d/dcnlab.conf
for module in openvswitch sch_netem tun; do
    modprobe "$module" 2>/dev/null || echo "no kernel module $module: see \`dcnlab doctor\`"
done
dcnlab doctor
