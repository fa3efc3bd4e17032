#!/usr/bin/env bash
# Install the Debian or Ubuntu packages that dcnlab needs and that are missing.
#   packages.sh [PACKAGE...]      install these instead; `usual` stands for the usual ones
set -euo pipefail

usual=(
    python3-venv openvswitch-switch mininet iproute2 iputils-ping iperf3 traceroute tcpdump
    ethtool curl openssh-server openssh-client util-linux kmod libjemalloc2
)
case $(uname -m) in
x86_64) ;;
*) usual+=(g++ python3-dev) ;;   # pymetis has no wheels there: pip compiles it
esac
packages=()
for asked in "${@:-usual}"; do
    if [ "$asked" = usual ]; then packages+=("${usual[@]}"); else packages+=("$asked"); fi
done

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "packages.sh: needs apt-get (Debian or Ubuntu); install by hand: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "packages.sh: run as root, or install sudo; missing: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}" >/dev/null
